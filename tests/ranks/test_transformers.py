"""Transformers' Trainer under TrainerHooks: stopped together, and resumed exactly."""

import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.history import history, steps_done
from tests.support.ranks import start_ranks
from trainer_hooks import EXIT_PREEMPTED, latest_committed
from trainer_hooks.errors import ConfigError

transformers = pytest.importorskip("transformers", reason="needs the extra transformers")

from transformers import TrainerCallback  # noqa: E402 - as above

from tests.support.hugging import Data, Hugging, Net, SurvivingTrainer  # noqa: E402 - as above
from trainer_hooks.integrations.transformers import LAST_LOGGED  # noqa: E402 - as above

pytestmark = pytest.mark.ranks


def run_in(place: Path, **options: Any) -> Hugging:  # noqa: ANN401 - Hugging's own
    """Return a run of its own place."""
    place.mkdir(exist_ok=True)
    return Hugging(place=place, **options)


def train(run: Hugging, ranks: int, code: int = 0) -> str:
    """Train on so many ranks, which all leave with a code; return what rank 0 has said."""
    job = start_ranks(ranks, run.train, run.place / "out")
    assert job.wait() == [code] * ranks, "".join(map(job.log, range(ranks)))
    return job.log(0)


def stopped_at(run: Hugging, ranks: int) -> tuple[int, int]:
    """Return the step that all ranks stopped after, and the newest that is committed."""
    (last,) = {steps_done(run.place, rank)[-1] for rank in range(ranks)}
    checkpoint = latest_committed(run.place / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step in {last + 1, last // 10 * 10}
    return last + 1, checkpoint.step


def withdraw(run: Hugging) -> None:
    """Take the notices back, as another node has none."""
    for directory in run.place.glob("run_*"):
        shutil.rmtree(directory)


def test_run_resumes_bitwise_when_one_rank_of_two_has_a_notice(tmp_path: Path) -> None:
    """Sample ids, learning rate and each batch's loss, with evaluations in between."""
    told = {"gradient_accumulation_steps": 2, "eval_strategy": "steps", "eval_steps": 6}
    straight, broken = (run_in(tmp_path / name, arguments=told) for name in ("straight", "broken"))
    train(straight, 2)
    train(replace(broken, notice=(1, 17)), 2, EXIT_PREEMPTED)
    step, committed = stopped_at(broken, 2)
    assert 18 <= step < 30
    withdraw(broken)
    assert f"RESUMED step={committed}" in train(broken, 2)
    for rank in range(2):
        assert history(broken.place, rank) == history(straight.place, rank)
        assert len(history(broken.place, rank)) == 30
        assert all(len(ids) == 8 for ids, _, _ in history(broken.place, rank).values())


@pytest.mark.slow
def test_all_ranks_stop_when_only_rank_3_of_4_has_a_notice(tmp_path: Path) -> None:
    """At one step, with 75 and a checkpoint."""
    run = run_in(tmp_path / "run", notice=(3, 17), arguments={"max_steps": 1000})
    train(run, 4, EXIT_PREEMPTED)
    step, _ = stopped_at(run, 4)
    assert 18 <= step < 1000


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_run_is_finished_when_early_stopping_ends_it(tmp_path: Path, ranks: int) -> None:
    """The last step is committed, with its own weights and not the best; 0 is the code."""
    told = {
        "eval_strategy": "steps",
        "eval_steps": 6,
        "metric_for_best_model": "loss",
        "max_steps": 100,
    }
    stopping = transformers.EarlyStoppingCallback(1, early_stopping_threshold=1e9)
    run = run_in(tmp_path / "run", arguments=told, callbacks=(stopping,))
    train(run, ranks)
    assert steps_done(run.place, 0) == [*range(12)]
    checkpoint = latest_committed(run.place / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == 12


@pytest.mark.slow
def test_nothing_is_done_when_the_run_has_reached_its_end(tmp_path: Path) -> None:
    """A start more ends with 0, and trains no step."""
    run = run_in(tmp_path / "run")
    train(run, 2)
    assert "RESUMED step=30" in train(run, 2)
    assert steps_done(run.place, 0) == [*range(30)]


class _Failing(TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401 - its own
        """Fail in the step after a save."""
        del args, control
        if state.global_step == 11:
            raise ValueError("the user's own")


@pytest.mark.slow
def test_save_in_flight_is_committed_when_the_training_fails(tmp_path: Path) -> None:
    """As when the block of TrainerHooks is left by an error."""
    run = run_in(tmp_path / "run", callbacks=(_Failing(),))
    assert "the user's own" in train(run, 2, 1)
    checkpoint = latest_committed(run.place / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == 10


@pytest.mark.slow
@pytest.mark.skipif(
    torch.cuda.device_count() < 2,
    reason="needs two GPUs: FSDP under Transformers has no way without",
)
def test_sharded_run_resumes_bitwise_on_two_gpus(tmp_path: Path) -> None:
    """With FSDP2 under the Trainer."""
    told = {"use_cpu": False, "ddp_backend": "nccl", "fsdp": "full_shard"}
    told["fsdp_config"] = {"fsdp_version": 2}
    straight, broken = (run_in(tmp_path / name, arguments=told) for name in ("straight", "broken"))
    train(straight, 2)
    train(replace(broken, notice=(1, 17)), 2, EXIT_PREEMPTED)
    withdraw(broken)
    train(broken, 2)
    for rank in range(2):
        assert history(broken.place, rank) == history(straight.place, rank)


def trainer_of(place: Path, data: Any = None, **told: Any) -> SurvivingTrainer:  # noqa: ANN401 - a Trainer's
    """Return a Trainer on one rank."""
    arguments = transformers.TrainingArguments(
        str(place), use_cpu=True, report_to=[], remove_unused_columns=False, **told
    )
    return SurvivingTrainer(
        model=Net(),
        args=arguments,
        train_dataset=Data() if data is None else data,
        hooks={"checkpoint_dir": place / "checkpoints", "save_every": 10},
    )


class _Stream(torch.utils.data.IterableDataset[Any]):
    def __iter__(self) -> Any:  # noqa: ANN401 - any samples
        return iter(())


def test_what_nobody_could_resume_is_refused_by_name(tmp_path: Path) -> None:
    """Epochs without steps, data without a length, an order by length, its own saves at a stop."""

    def on_rank(_: int) -> None:
        warnings.simplefilter("ignore")
        refused: list[tuple[dict[str, Any], str]] = [
            ({"num_train_epochs": 2}, "say how many steps"),
            ({"max_steps": 3, "data": _Stream()}, "is a _Stream without a length"),
            ({"max_steps": 3, "train_sampling_strategy": "group_by_length"}, "'group_by_length'"),
            ({"max_steps": 3, "enable_jit_checkpoint": True}, "use neither"),
        ]
        for told, why in refused:
            with pytest.raises(ConfigError, match=why):
                trainer_of(tmp_path, **told).train()

    job = start_ranks(1, on_rank, tmp_path / "out")
    assert job.wait() == [0], job.log(0)


def test_private_name_is_where_it_was(tmp_path: Path) -> None:
    """That of Transformers which is set."""

    def on_rank(_: int) -> None:
        warnings.simplefilter("ignore")
        trainer = trainer_of(tmp_path, max_steps=1, per_device_train_batch_size=4)
        trainer.train()
        assert isinstance(getattr(trainer, LAST_LOGGED), int)

    job = start_ranks(1, on_rank, tmp_path / "out")
    assert job.wait() == [0], job.log(0)
