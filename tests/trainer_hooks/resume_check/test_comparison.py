"""The comparison of two runs: what is equal, and the first thing that is not."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from trainer_hooks.resume_check.comparison import (
    Comparison,
    Doing,
    compare,
    done_at,
    read_doings,
    redone_steps,
    resumed_step,
)

STEPS = 6


def doing(step: int, rank: int = 0, *, at: float = 0.0) -> Doing:
    """Return a step as every run does it."""
    ids = (10 * step + rank, 10 * step + rank + 1)
    return Doing(step=step, ids=ids, lr=repr(0.1 / (step + 1)), loss=repr(3.5 - rank), done_at=at)


def unbroken() -> list[list[Doing]]:
    """Return what both ranks did without an interruption."""
    return [[doing(step, rank) for step in range(STEPS)] for rank in range(2)]


def interrupted() -> list[list[Doing]]:
    """Return what both ranks did, stopped after four steps, resumed from two."""
    return [[doing(step, rank) for step in (0, 1, 2, 3, 2, 3, 4, 5)] for rank in range(2)]


def differences(comparisons: list[Comparison]) -> dict[str, str]:
    """Return what differs, by aspect."""
    return {one.aspect: one.difference for one in comparisons if one.difference is not None}


def test_runs_are_equal_when_every_step_is_the_same() -> None:
    """Each aspect counts its pairs, redone steps included."""
    comparisons = compare(interrupted(), unbroken(), STEPS)
    assert differences(comparisons) == {}
    assert {one.aspect: one.count for one in comparisons} == {
        "steps": 12,
        "sample ids": 12,
        "learning rates": 12,
        "losses": 12,
        "steps redone": 4,
    }


def test_losses_differ_when_the_last_bit_of_one_does() -> None:
    """One step on one rank is enough, and it is named with both values."""
    run = interrupted()
    nearly = repr(math.nextafter(2.5, 3.0))
    run[1][7] = replace(run[1][7], loss=nearly)
    assert differences(compare(run, unbroken(), STEPS)) == {
        "losses": f"step 5 on rank 1: {nearly} against 2.5"
    }


def test_losses_differ_when_zeros_have_other_signs() -> None:
    """Equal as numbers is not enough."""
    run, other = unbroken(), unbroken()
    run[0][0], other[0][0] = replace(run[0][0], loss="0.0"), replace(run[0][0], loss="-0.0")
    assert "losses" in differences(compare(run, other, STEPS))


@pytest.mark.parametrize(
    ("aspect", "change"),
    [("sample ids", {"ids": (1, 2)}), ("learning rates", {"lr": "0.5"})],
)
def test_aspect_differs_alone_when_only_it_was_changed(
    aspect: str, change: dict[str, object]
) -> None:
    """A difference is blamed on what differs."""
    run = unbroken()
    run[0][3] = replace(run[0][3], **change)  # type: ignore[arg-type]  # the parameters above
    assert list(differences(compare(run, unbroken(), STEPS))) == [aspect]


def test_step_counts_by_its_last_doing_when_it_was_done_twice() -> None:
    """What the resumed run made of it stands; that it was other the first time is told as well."""
    run = interrupted()
    run[0][2] = replace(run[0][2], loss="9.0")  # the first doing of step 2
    assert differences(compare(run, unbroken(), STEPS)) == {
        "steps redone": "losses, step 2 on rank 0: 9.0 against 3.5"
    }


@pytest.mark.parametrize("name", ["interrupted", "unbroken"])
def test_steps_differ_when_one_is_missing(name: str) -> None:
    """A step that one rank of one run has not done is named; the others are still compared."""
    runs = {"interrupted": unbroken(), "unbroken": unbroken()}
    del runs[name][1][4]
    comparisons = compare(runs["interrupted"], runs["unbroken"], STEPS)
    assert differences(comparisons) == {"steps": f"step 4 is missing on rank 1 of the {name} run"}
    assert {one.count for one in comparisons if one.aspect == "losses"} == {11}


def test_steps_are_counted_when_they_were_redone() -> None:
    """Two steps were done twice; the run went on from the first of them."""
    assert redone_steps(interrupted()[0]) == 2
    assert redone_steps(unbroken()[0]) == 0
    assert resumed_step(interrupted(), 4) == 2
    assert resumed_step(unbroken(), 4) == 4


def test_resumed_step_is_unknown_when_ranks_differ_or_never_went_on() -> None:
    """Nothing is guessed from one rank."""
    run = interrupted()
    del run[1][4]
    assert resumed_step(run, 4) is None
    assert resumed_step([of_rank[:4] for of_rank in interrupted()], 4) is None


def test_instant_is_that_of_the_last_rank_and_first_doing_when_a_step_is_looked_for() -> None:
    """All have done it only when the last one has; doing it again is no news."""
    run = [[doing(0, at=1.0), doing(1, at=2.0), doing(1, at=9.0)], [doing(0, at=3.0)]]
    assert done_at(run, 0) == 3.0
    assert done_at(run, 1) is None
    run[1].append(doing(1, at=4.0))
    assert done_at(run, 1) == 4.0


def test_doings_are_read_back_bitwise_when_the_example_has_logged_them(tmp_path: Path) -> None:
    """The log's numbers survive the way through text."""
    loss = 2.7671797275543213
    record = {"step": 3, "ids": [7, 5], "lr": 1e-3 / 3, "loss": loss, "time": 12.5}
    log = tmp_path / "rank_0.jsonl"
    log.write_text(json.dumps(record) + "\n", encoding="ascii")
    (read,) = read_doings(log)
    expected = Doing(step=3, ids=(7, 5), lr=repr(1e-3 / 3), loss=repr(loss), done_at=12.5)
    assert read == expected
    assert read_doings(tmp_path / "rank_1.jsonl") == []


@pytest.mark.parametrize("line", ['{"step": 3, "ids"', "[]", '{"step": 3}', '{"step": "x"}'])
def test_reading_names_the_line_when_a_record_is_torn(tmp_path: Path, line: str) -> None:
    """A log that cannot be read proves nothing, so it is an error."""
    log = tmp_path / "rank_0.jsonl"
    log.write_text(line + "\n", encoding="ascii")
    with pytest.raises(ValueError, match=r"rank_0.jsonl:1 is no record of a step"):
        read_doings(log)
