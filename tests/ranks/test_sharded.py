"""Models spread over ranks by FSDP2, HSDP, tensor parallelism and both: saved, and resumed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.ranks import start_ranks
from tests.support.sharded import Sharded, Way

pytestmark = [pytest.mark.ranks, pytest.mark.slow]


def train(place: Path, way: Way, starts: list[tuple[int, int]], dropout: float) -> list[Any]:
    """Train to each step on so many ranks, a start after the other; return what each logged."""
    logged = []
    for ranks, until in starts:
        log_dir = place / f"log_{until}"
        run = Sharded(
            way=way,
            checkpoint_dir=place / "checkpoints",
            log_dir=log_dir,
            until=until,
            dropout=dropout,
        )
        job = start_ranks(ranks, run.train, place / f"out_{until}")
        assert job.wait() == [0] * ranks, "".join(map(job.log, range(ranks)))
        if until != starts[0][1]:
            assert "RESUMED" in job.log(0)
        files = [log_dir / f"rank_{rank}.jsonl" for rank in range(ranks)]
        logged.append(
            [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
        )
    return logged


def bits(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what has to be the same, bit for bit."""
    return [
        {name: step[name] for name in ("step", "ids", "lr", "loss", "state", "rng")}
        for step in steps
    ]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", Way)
def test_training_goes_on_bitwise_when_a_spread_model_is_resumed(
    tmp_path: Path, way: Way, ranks: int
) -> None:
    """Twice in a row, with dropout: each rank's shards, moments, averages and random numbers."""
    (straight,) = train(tmp_path / "straight", way, [(ranks, 8)], dropout=0.2)
    starts = train(tmp_path / "broken", way, [(ranks, n) for n in (3, 6, 8)], dropout=0.2)
    for rank in range(ranks):
        broken = [step for start in starts for step in start[rank]]
        assert bits(broken) == bits(straight[rank])
        assert len({step["state"] for step in broken}) == 8


@pytest.mark.parametrize("way", Way)
def test_training_is_the_same_when_a_spread_model_is_resumed_by_other_ranks(
    tmp_path: Path, way: Way
) -> None:
    """Four, two and four again: losses but for rounding, the same samples."""
    (straight,) = train(tmp_path / "straight", way, [(4, 8)], dropout=0.0)
    starts = train(tmp_path / "broken", way, [(4, 3), (2, 6), (4, 8)], dropout=0.0)
    broken = [step for start in starts for step in start[0]]
    assert [step["step"] for step in broken] == list(range(8))
    for one, other in zip(straight[0], broken, strict=True):
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-4)
        assert other["lr"] == one["lr"]
    for number in range(8):
        assert together(starts, number) == together([straight], number)


def together(starts: list[Any], number: int) -> set[int]:
    """Return the samples of a step, of all ranks."""
    return {
        id_
        for start in starts
        for rank in start
        for step in rank
        if step["step"] == number
        for id_ in step["ids"]
    }
