"""Lightning's loop under TrainerHooks: stopped together, and resumed exactly."""

import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from tests.support.history import history, steps_done
from tests.support.ranks import start_ranks
from trainer_hooks import EXIT_PREEMPTED, ResumableSampler, latest_committed
from trainer_hooks.errors import ConfigError

lightning = pytest.importorskip("lightning", reason="needs the extra lightning")

from lightning.pytorch import Trainer  # noqa: E402 - as above
from lightning.pytorch.callbacks import EarlyStopping  # noqa: E402 - as above

from tests.support.enlightened import Enlightened, Module  # noqa: E402 - as above
from trainer_hooks.integrations.lightning import (  # noqa: E402 - as above
    OWN_STOPS,
    TrainerHooksCallback,
    _of,
)

pytestmark = pytest.mark.ranks


def run_in(place: Path, **options: Any) -> Enlightened:  # noqa: ANN401 - Enlightened's own
    """Return a run of its own place."""
    place.mkdir(exist_ok=True)
    return Enlightened(place=place, **options)


def train(run: Enlightened, ranks: int, code: int = 0) -> str:
    """Train on so many ranks, which all leave with a code; return what rank 0 has said."""
    job = start_ranks(ranks, run.train, run.place / "out")
    assert job.wait() == [code] * ranks, "".join(map(job.log, range(ranks)))
    return job.log(0)


def stopped_at(run: Enlightened, ranks: int) -> tuple[int, int]:
    """Return the step that all ranks stopped after, and the newest that is committed."""
    (last,) = {steps_done(run.place, rank)[-1] for rank in range(ranks)}
    checkpoint = latest_committed(run.place / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step in {last + 1, last // 10 * 10}
    return last + 1, checkpoint.step


def withdraw(run: Enlightened) -> None:
    """Take the notices back, as another node has none."""
    for directory in run.place.glob("run_*"):
        shutil.rmtree(directory)


def test_run_resumes_bitwise_when_one_rank_of_two_has_a_notice(tmp_path: Path) -> None:
    """Sample ids, learning rate, each batch's loss and its epoch, validation in between."""
    straight, broken = (
        run_in(tmp_path / name, accumulate=2, validates=True) for name in ("straight", "broken")
    )
    train(straight, 2)
    train(replace(broken, notice=(1, 17)), 2, EXIT_PREEMPTED)
    step, committed = stopped_at(broken, 2)
    assert 18 <= step < 30
    withdraw(broken)
    assert f"RESUMED step={committed}" in train(broken, 2)
    for rank in range(2):
        assert history(broken.place, rank) == history(straight.place, rank)
        assert len(history(broken.place, rank)) == 30


@pytest.mark.slow
def test_all_ranks_stop_when_only_rank_3_of_4_has_a_notice(tmp_path: Path) -> None:
    """At one step, with 75 and a checkpoint."""
    run = run_in(tmp_path / "run", notice=(3, 17), trainer={"max_steps": 1000})
    train(run, 4, EXIT_PREEMPTED)
    step, _ = stopped_at(run, 4)
    assert 18 <= step < 1000


@pytest.mark.slow
@pytest.mark.parametrize("interval", [1.0, 3, 5])
@pytest.mark.parametrize("told_at", [9, 12, 14])
def test_run_resumes_bitwise_wherever_validation_and_epochs_fall(
    tmp_path: Path, interval: float, told_at: int
) -> None:
    """Epochs of 12 steps; the resume lies at an end of one, after a validation, or at neither."""
    options = {"max_steps": 30, "val_check_interval": interval}
    straight, broken = (
        run_in(tmp_path / name, validates=True, trainer=options) for name in ("straight", "broken")
    )
    train(straight, 2)
    train(replace(broken, notice=(0, told_at)), 2, EXIT_PREEMPTED)
    withdraw(broken)
    train(broken, 2)
    for rank in range(2):
        assert history(broken.place, rank) == history(straight.place, rank)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("by", ["epochs", "early stopping"])
def test_run_is_finished_when_lightning_ends_it(tmp_path: Path, by: str, ranks: int) -> None:
    """After two epochs, or as nothing gets better; the last step is committed, and 0 the code."""
    options = {"max_epochs": 2} if by == "epochs" else {"max_epochs": 10}
    stopping = () if by == "epochs" else (EarlyStopping("val_loss", patience=1, min_delta=1e9),)
    run = run_in(tmp_path / "run", validates=True, trainer=options, callbacks=stopping)
    train(run, ranks)
    steps = 2 * (97 // (4 * ranks))
    assert steps_done(run.place, 0) == [*range(steps)]
    checkpoint = latest_committed(run.place / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == steps
    if by == "epochs":
        train(run, ranks)
        assert steps_done(run.place, 0) == [*range(steps)]


@pytest.mark.slow
def test_run_goes_on_when_another_number_of_ranks_resumes_it(tmp_path: Path) -> None:
    """From two to one: the stream of samples has no gap and no double."""
    run = run_in(tmp_path / "run", notice=(0, 12))
    train(run, 2, EXIT_PREEMPTED)
    _, committed = stopped_at(run, 2)
    withdraw(run)
    before = [history(run.place, rank) for rank in range(2)]
    (run.place / "rank_0.jsonl").unlink()
    assert f"RESUMED step={committed}" in train(replace(run, notice=None), 1)
    after = history(run.place, 0)
    stream = ResumableSampler(97, seed=3)
    dealt = [stream.id_at(index) for index in range(8 * committed + 4 * (30 - committed))]
    done = [one for rank in before for at in range(committed) for one in rank[at][0]]
    assert sorted(done) == sorted(dealt[: 8 * committed])
    rest = [one for at in range(committed, 30) for one in after[at][0]]
    assert rest == dealt[8 * committed :]


def refusal(module: Module, **told: Any) -> str:  # noqa: ANN401 - a Trainer's
    """Return why a fit is refused on one rank."""
    loader = DataLoader(DATA, 4, sampler=ResumableSampler(8), generator=torch.Generator())
    survive = TrainerHooksCallback(loader, checkpoint_dir=told.pop("root"), save_every=10)
    trainer = Trainer(
        accelerator="cpu", devices=1, callbacks=[survive], logger=False, enable_checkpointing=False
    )
    with pytest.raises(ConfigError) as caught:
        trainer.fit(module, survive.batches, **told)
    return str(caught.value)


DATA: Any = [(i, torch.zeros(4)) for i in range(8)]


class _Two(Module):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def configure_optimizers(self) -> Any:  # noqa: ANN401 - Lightning's own
        """Return two."""
        return [torch.optim.SGD(self.parameters(), lr=0.1) for _ in range(2)]


def test_what_nobody_could_resume_is_refused_by_name(tmp_path: Path) -> None:
    """A shuffling loader, another checkpoint beside, two optimizers, batches without the hook."""

    def on_rank(_: int) -> None:
        warnings.simplefilter("ignore")
        with pytest.raises(ConfigError, match="goes by a RandomSampler"):
            TrainerHooksCallback(DataLoader(DATA, 2, shuffle=True), checkpoint_dir="x")
        given = tmp_path / "given.ckpt"
        torch.save(
            {"pytorch-lightning_version": "2.6.6", "state_dict": Module().state_dict()}, given
        )
        assert "ckpt_path" in refusal(Module(), root=tmp_path / "a", ckpt_path=str(given))
        assert "2 optimizers" in refusal(_Two(), root=tmp_path / "b")
        loader = DataLoader(DATA, 4, sampler=ResumableSampler(8), generator=torch.Generator())
        batches = TrainerHooksCallback(loader, checkpoint_dir="x", save_every=1).batches
        with pytest.raises(ConfigError, match="only for the Trainer that has the callback"):
            next(iter(batches))

    job = start_ranks(1, on_rank, tmp_path / "out")
    assert job.wait() == [0], job.log(0)


def test_private_names_are_where_they_were() -> None:
    """Those of Lightning that are put out of use."""
    trainer = Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    for owner, name in OWN_STOPS.items():
        assert callable(getattr(_of(trainer, owner), name))
