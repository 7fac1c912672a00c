"""When a job counts as having survived, and when not."""

from dataclasses import replace

import pytest

from tests.support.courses import SURVIVED


def test_job_survives_when_it_ends_in_time_and_goes_on_where_it_was() -> None:
    """And the report says what it costs, and what is left in each cloud."""
    assert list(SURVIVED.failures()) == []
    text = "\n".join(SURVIVED.lines())
    assert text.endswith("the job survives")
    assert "steps done again: 6" in text
    assert "+116 s (AWS), +26 s (Azure, Google Cloud), +11 s" in text
    assert SURVIVED.document()["survived"] is True


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"code": None, "ended_s": None}, "was killed"),
        ({"code": 1}, "ended with 1"),
        ({"ended_s": 121.0}, "after the node would have been gone"),
        ({"committed_step": None}, "begin at step 0"),
        ({"resumed_after_s": None}, "not seen to get past"),
        ({"resumed_step": 3}, "began before step 50"),
    ],
)
def test_job_is_lost_when_one_thing_is_wrong(change: dict[str, float], words: str) -> None:
    """Each is said in words of its own."""
    course = replace(SURVIVED, **change)  # type: ignore[arg-type]  # floats stand for each field
    [why] = course.failures()
    assert words in why
    assert "the job is lost" in list(course.lines())[-1]
    assert course.document()["survived"] is False


def test_job_survives_when_it_has_finished_all_its_work() -> None:
    """There is nothing to resume."""
    course = replace(SURVIVED, code=0, resumed_step=None, resumed_after_s=None)
    assert list(course.failures()) == []


def test_new_start_is_not_missed_when_nobody_asked_for_it() -> None:
    """--no-resume."""
    course = replace(SURVIVED, resumed_step=None, resumed_after_s=None, is_resume_asked=False)
    assert list(course.failures()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"ended_s": None}, "did not end before"),
        ({"ended_s": 121.0}, "after the node would have been gone"),
        ({"committed_step": None}, "begin at step 0"),
    ],
)
def test_trainer_on_a_real_node_is_judged_without_its_exit_code(
    change: dict[str, float], words: str
) -> None:
    """Its scheduler sees that, and nobody else."""
    course = replace(SURVIVED, code=None, is_code_seen=False, **change)  # type: ignore[arg-type]  # as above
    assert words in "; ".join(course.failures())
    assert bool(words) is not course.document()["survived"]
    assert "exit code" not in "".join(course.lines())
