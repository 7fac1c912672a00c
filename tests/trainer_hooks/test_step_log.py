"""The step log: what each step did, bit for bit, and nothing where nobody asks."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.training import Run
from trainer_hooks import ResumableSampler, TrainerHooks
from trainer_hooks.errors import ConfigError
from trainer_hooks.resume_check.comparison import read_doings
from trainer_hooks.step_log import VARIABLE, StepLog, open_step_log
from trainer_hooks.world import World

STEPS = 6


@pytest.fixture
def log_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the log is asked for."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "log"))
    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(tmp_path / "run"))
    return tmp_path / "log"


def train(directory: Path, *, seed: int = 0, until: int = STEPS, step_rng: bool = False) -> None:
    """Train a few steps of two samples each, and tell the losses of all but the first."""
    sampler = ResumableSampler(10, seed=3)
    run = Run(seed=seed, data=sampler)
    with TrainerHooks(run.state, checkpoint_dir=directory, save_every=3) as hooks:
        for step in hooks.steps(until=until):
            sampler.advance(2)
            run.step()
            if step_rng:
                torch.rand(1)
            if step:
                hooks.note_loss(torch.tensor(0.5 * step, requires_grad=True))


def records(log_dir: Path) -> list[dict[str, Any]]:
    """Return what rank 0 has logged."""
    return [json.loads(line) for line in (log_dir / "rank_0.jsonl").read_text().splitlines()]


def test_each_step_is_logged_when_a_log_is_asked_for(tmp_path: Path, log_dir: Path) -> None:
    """Samples, learning rates, the loss where it was told, digests, and what has been committed."""
    train(tmp_path / "checkpoints")
    logged = records(log_dir)
    assert [record["step"] for record in logged] == list(range(STEPS))
    assert [record["loss"] for record in logged] == [None, 0.5, 1.0, 1.5, 2.0, 2.5]
    order = iter(ResumableSampler(10, seed=3))
    assert [record["ids"] for record in logged] == [[next(order), next(order)] for _ in logged]
    assert len({record["state"] for record in logged}) == STEPS
    assert {(record["ranks"], record["until"]) for record in logged} == {(1, STEPS)}
    assert logged[0]["committed"] is None
    assert [doing.step for doing in read_doings(log_dir / "rank_0.jsonl")] == list(range(STEPS))


def test_log_is_the_same_when_the_run_was_resumed(tmp_path: Path, log_dir: Path) -> None:
    """Three steps and three more, against six: every digest is the same."""
    train(tmp_path / "straight")
    straight = records(log_dir)
    (log_dir / "rank_0.jsonl").unlink()
    train(tmp_path / "broken", until=3)
    train(tmp_path / "broken", seed=9)  # what a fresh start draws does not matter
    for mine, other in zip(records(log_dir), straight, strict=True):
        for name in ("step", "ids", "lr", "loss", "state", "rng"):
            assert mine[name] == other[name], name


def test_digests_tell_state_and_random_numbers_apart(tmp_path: Path, log_dir: Path) -> None:
    """One number more drawn after a step: the state is the same, and the generators are not."""
    train(tmp_path / "one", until=1)
    train(tmp_path / "two", until=1, step_rng=True)
    one, two = records(log_dir)
    assert one["state"] == two["state"]
    assert one["rng"] != two["rng"]


def test_nothing_is_logged_when_nobody_asks(
    tmp_path: Path, log_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Telling a loss costs nothing then."""
    monkeypatch.delenv(VARIABLE)
    train(tmp_path / "checkpoints")
    assert not log_dir.exists()
    assert open_step_log(Run().state, World.connect()) is None


def test_log_is_refused_when_it_cannot_be_written(tmp_path: Path) -> None:
    """A comparison with holes would prove nothing."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be made"):
        StepLog(tmp_path / "file" / "log", Run().state, World.connect())
    (tmp_path / "log" / "rank_0.jsonl").mkdir(parents=True)
    log = StepLog(tmp_path / "log", Run().state, World.connect())
    with pytest.raises(ConfigError, match="cannot be written"):
        log.write(0, until=1, committed=None)
