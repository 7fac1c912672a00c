"""What verify-resume is asked to do, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.resume_check.plan import Plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A plan that makes sense: 2 ranks, then 1, then 2 again."""
    return Plan(
        command=["launch", "--nproc-per-node={n}", "train.py", "--dir={dir}", "--steps={}"],
        out=tmp_path / "out",
        values={"n": ["2", "1", "2"]},
    )


def test_command_line_is_filled_in_when_a_start_has_its_own_values(plan: Plan) -> None:
    """Each start has the run's directory and its own number of ranks; other braces stay."""
    plan.check()
    assert plan.command_line(Path("/x"), 1) == [
        "launch",
        "--nproc-per-node=1",
        "train.py",
        "--dir=/x",
        "--steps={}",
    ]
    assert plan.command_line(Path("/x"), 2)[1] == "--nproc-per-node=2"


def test_interruptions_part_the_run_equally_when_nobody_says_where(plan: Plan) -> None:
    """At a third and at two thirds; never at step 0, before which there is nothing to lose."""
    assert [plan.step_of(i, 60) for i in range(2)] == [20, 40]
    assert plan.step_of(0, 2) == 1


def test_interruptions_are_where_they_are_asked_for(plan: Plan) -> None:
    """Whatever the length; there is a start more than interruptions."""
    asked = replace(plan, at=[7, 9, 30])
    assert asked.starts == 4
    assert [asked.step_of(i, 60) for i in range(3)] == [7, 9, 30]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"command": ["train.py", "{n}"]}, r"write \{dir\} where"),
        ({"at": [5, 5]}, "steps that grow"),
        ({"at": [0, 5]}, "from 1 on"),
        ({"values": {"n": ["2"]}}, r"--set n has 1 values, and there are 3 starts"),
        ({"values": {"m": ["1", "2", "3"]}}, r"no \{m\} in the command line"),
    ],
)
def test_plan_is_refused_when_it_makes_no_sense(
    plan: Plan, change: dict[str, object], why: str
) -> None:
    """Before anything is started, with what to change."""
    with pytest.raises(ConfigError, match=why):
        replace(plan, **change).check()  # type: ignore[arg-type]  # a case's fields


def test_plan_is_refused_when_its_directory_is_in_use(plan: Plan) -> None:
    """Logs of another check would be taken for this one's."""
    plan.out.mkdir()
    (plan.out / "other").touch()
    with pytest.raises(ConfigError, match="is not empty"):
        plan.check()
