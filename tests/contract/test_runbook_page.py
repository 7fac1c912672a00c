"""docs/runbook.md says what is done on a machine in trouble; each line is held by tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs" / "runbook.md").read_text().partition("## A machine in trouble")[2]
ROWS = {
    row.split(" | ")[0].strip("| "): row.split(" | ")[1:]
    for row in SECTION.splitlines()
    if row.startswith("| ") and not row.startswith("| trouble")
}
TROUBLES = ("kill -STOP", "Suspend", "wall clock", "disk is full", "read-only", "No descriptor")


@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_has_a_line_with_watcher_trainers_and_tests(trouble: str) -> None:
    """One line each, and all of its cells filled."""
    (cells,) = (cells for name, cells in ROWS.items() if trouble in name)
    assert len(cells) == 3
    assert all(cell.strip("| ") for cell in cells)


@pytest.mark.parametrize("trouble", ROWS)
def test_line_is_held_by_tests_that_there_are(trouble: str) -> None:
    """A file of tests that was renamed or removed takes its line with it."""
    named = re.findall(r"`((?:\w+/)*test_\w+\.py)`", ROWS[trouble][-1])
    assert named
    for name in named:
        files = list((ROOT / "tests").rglob(name))
        assert len(files) == 1, name
        assert re.search(r"^(async )?def test_", files[0].read_text(), re.MULTILINE)
