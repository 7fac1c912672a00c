"""What verify-resume concludes: same or not, from which step on, and what may be behind it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.resume_check.comparison import Doing
from trainer_hooks.resume_check.text import verdict_text
from trainer_hooks.resume_check.verdict import Verdict, judge

STEPS = 9


def doing(step: int, rank: int, ranks: int) -> Doing:
    """Return a step of a run whose global batch has four samples, at 1, 2 or 4 ranks."""
    ids = tuple(range(4 * step + rank, 4 * step + 4, ranks))
    losses = [3.0 + 0.25 * (i % 4) - 0.1 * step for i in ids]
    return Doing(
        step=step,
        ids=ids,
        lr=repr(0.1 / (step + 1)),
        loss=repr(sum(losses) / len(losses)),
        done_at=0.0,
        state=f"state after {step} on {rank}",
        rng=f"rng after {step} on {rank}",
        threads=1,
        ranks=ranks,
    )


def start(first: int, end: int, ranks: int = 2) -> list[list[Doing]]:
    """Return what the ranks of a start did."""
    return [[doing(step, rank, ranks) for step in range(first, end)] for rank in range(ranks)]


def interrupted(sizes: Sequence[int] = (2, 2, 2)) -> list[list[list[Doing]]]:
    """Return a run of three starts, each from three steps on, with a step redone each time."""
    ends = [(0, 4), (3, 7), (6, 9)]
    return [start(*end, ranks) for end, ranks in zip(ends, sizes, strict=True)]


def changed(
    ranks: int = 2, number: int = 1, index: int = 0, *, threads: int = 1, **fields: object
) -> Verdict:
    """Return the verdict on a run of which one doing of the last rank was changed."""
    starts = interrupted((ranks,) * 3)
    starts[number] = [[replace(one, threads=threads) for one in each] for each in starts[number]]
    starts[number][-1][index] = replace(
        starts[number][-1][index],
        **fields,  # type: ignore[arg-type]  # a doing's
    )
    return judge(starts, start(0, STEPS, ranks), None)


def test_runs_are_the_same_when_every_bit_is() -> None:
    """All aspects are compared on every rank, and what each start did is told."""
    verdict = judge(interrupted(), start(0, STEPS), None)
    assert verdict.difference is None
    assert {one.aspect: one.count for one in verdict.comparisons} == {
        "steps": 18,
        "sample ids": 18,
        "learning rates": 18,
        "losses": 18,
        "states": 18,
        "random numbers": 18,
        "steps redone": 4,
    }
    text = verdict_text(verdict)
    assert text.splitlines()[-1] == "SAME bit by bit"
    assert "2  steps 3 to 6 on 2 ranks" in text
    assert verdict.to_json()["same"] is True


def test_losses_are_left_out_when_nobody_has_told_them() -> None:
    """The digest of the state stands for them; it is not claimed that they were compared."""
    starts = [[[replace(d, loss=None) for d in doings] for doings in s] for s in interrupted()]
    unbroken = [[replace(d, loss=None) for d in doings] for doings in start(0, STEPS)]
    assert "losses" not in {one.aspect for one in judge(starts, unbroken, None).comparisons}


@pytest.mark.parametrize(
    ("verdict", "aspect", "cause"),
    [
        (changed(ids=(0, 1)), "sample ids", "data position did not come back"),
        (changed(lr="0.5"), "learning rates", "schedule did not come back"),
        (changed(ranks=4, state="other"), "states", "DDP rebuilds its buckets"),
        (changed(rng="other"), "random numbers", "has its own generator"),
        (changed(loss="9.0", state="other"), "losses", "in no state_dict"),
        (changed(index=2, state="other"), "states", "something that decides about the update"),
        (changed(number=0, loss="9.0"), "losses", "before any interruption"),
        (changed(threads=2, state="other"), "states", "torch had 2 threads in one run and 1"),
    ],
)
def test_usual_cause_is_named_when_runs_differ(verdict: Verdict, aspect: str, cause: str) -> None:
    """By what differs first, and whether that is in the first step of a start."""
    differing = {one.aspect for one in verdict.comparisons if one.difference is not None}
    assert aspect in differing
    assert cause in verdict.causes[0]
    assert verdict_text(verdict).splitlines()[-1].startswith("DIFFERS ")


def test_buckets_are_not_blamed_when_there_are_two_ranks() -> None:
    """Two numbers have one sum, in whatever order."""
    assert "buckets" not in " ".join(changed(state="other").causes)


def test_step_is_missed_when_no_start_has_done_it() -> None:
    """A resume one step too far is no resume."""
    starts = [start(0, 4), start(5, 9)]
    assert "step 4 is missing on rank 0 of the interrupted run" in str(
        judge(starts, start(0, STEPS), None).difference
    )


def test_runs_are_compared_as_a_whole_when_the_number_of_ranks_changes() -> None:
    """The same samples in each step, and their mean loss, whoever had them."""
    verdict = judge(interrupted((2, 1, 4)), start(0, STEPS), 1e-9)
    assert verdict.difference is None
    assert {one.aspect for one in verdict.comparisons} == {
        "steps",
        "sample ids",
        "learning rates",
        "losses",
        "steps redone",
    }
    assert verdict_text(verdict).splitlines()[-1] == "SAME losses within 1e-09, all else exactly"


def test_sample_is_missed_when_the_global_batch_has_changed() -> None:
    """At half the ranks with the same batch a rank, half of the samples are gone."""
    starts = interrupted((2, 1, 2))
    starts[1][0] = [replace(one, ids=one.ids[:2]) for one in starts[1][0]]
    difference = judge(starts, start(0, STEPS), 0.5).difference
    assert difference is not None
    assert difference.aspect == "sample ids"


def test_losses_are_held_to_the_tolerance() -> None:
    """Relative; what is not a number is close to nothing else."""
    starts, unbroken = interrupted(), start(0, STEPS)
    starts[1][0][1] = replace(starts[1][0][1], loss=repr(float(unbroken[0][4].loss or 0) * 1.009))
    assert judge(starts, unbroken, 0.01).difference is None
    assert judge(starts, unbroken, 0.001).difference is not None
    starts[1][0][1] = replace(starts[1][0][1], loss="nan")
    assert judge(starts, unbroken, 0.5).difference is not None


def test_tolerance_is_asked_for_when_the_number_of_ranks_changes() -> None:
    """Bit by bit nothing would be the same."""
    with pytest.raises(ConfigError, match="--tolerance"):
        judge(interrupted((2, 1, 2)), start(0, STEPS), None)
