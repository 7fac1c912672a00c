"""docs/waste.md says what the code does."""

import re
from pathlib import Path

import pytest

from tests.support.ledgers import begin
from trainer_hooks import cli
from trainer_hooks.waste.account import Kind
from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.records import (
    Committed,
    End,
    Outcome,
    Part,
    Saved,
    Spent,
    Steps,
    to_json,
)

PAGE = (Path(__file__).parents[2] / "docs" / "waste.md").read_text(encoding="utf-8")
RECORDS = [
    begin(1, 1.0),
    Spent(part=Part.LOAD, began=1.0, ended=2.0),
    Steps(first=0, end=1, began=1.0, ended=2.0),
    Saved(step=1, began=1.0, ended=2.0),
    Committed(step=1, at=2.0),
    Heard(at=1.0, id="n-1"),
    End(at=2.0, outcome=Outcome.FINISHED, step=1),
]


def row(name: str) -> str:
    """Return the rows of tables that are about something."""
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    assert lines, name
    return "\n".join(lines)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_field_of_a_record_is_on_the_page_when_it_is_written(record: object) -> None:
    """In its row."""
    fields = to_json(record)  # type: ignore[arg-type]  # all of them are records
    said = row(str(fields.pop("what")))
    assert {name for name in fields if f"`{name}`" in said} == set(fields)


def test_every_name_is_on_the_page_when_time_has_it() -> None:
    """Kinds have a row; parts and outcomes are named."""
    for kind in Kind:
        assert row(kind)
    for word in (*Part, *Outcome, FOLDER + "/"):
        assert f"`{word}`" in PAGE, word


def test_every_flag_is_real_when_the_page_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Of plan and report."""
    known = ""
    for command in ("plan", "report"):
        cli.run([command, "--help"])
        known += capsys.readouterr().out
    for flag in sorted(set(re.findall(r"`?(--[a-z][a-z-]+)", PAGE))):
        assert flag in known, flag


@pytest.mark.parametrize(
    "names",
    [
        "TPU_INITIALIZATION TRAINING_PREP PROGRAM_STARTUP DATA_LOADING_SYNC DATA_LOADING_ASYNC",
        "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME",
        "WASTED_PROGRESS_FROM_DISRUPTION INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION",
        "CUSTOM_BADPUT_EVENTS OTHER",
        "ELASTIC_SLICE_DOWN ELASTIC_SCALE_UP ELASTIC_REINITIALIZATION",
    ],
)
def test_every_category_of_googles_is_one_of_ours_when_it_is_looked_up(names: str) -> None:
    """ml-goodput-measurement's BadputType (read 2026-11-30), by kinds and parts that there are."""
    table = PAGE.split("### Google's names")[1]
    ours = {*Kind, *Part}
    for name in names.split():
        [line] = [line for line in table.splitlines() if f"`{name}`" in line]
        told = re.findall(r"`([a-z]+)`", line)
        assert set(told) <= ours, line
        assert told or "nothing here" in line, line
