"""docs/commit-protocol.md names a test for what has gone wrong elsewhere; each of them is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "commit-protocol.md").read_text()
SECTION = PAGE.partition("## What has gone wrong elsewhere")[2].partition("\n## ")[0]
NAMED = sorted(set(re.findall(r"`(tests/[^`:]+)::(test_\w+)`", SECTION)))


@pytest.mark.parametrize(("file", "test"), NAMED, ids=lambda word: word.rpartition("/")[2])
def test_fault_is_held_off_by_a_test_that_there_is(file: str, test: str) -> None:
    """A test that was renamed or removed takes its row with it."""
    assert re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_every_fault_names_a_test() -> None:
    """Each row of the table has one."""
    rows = [line for line in SECTION.splitlines() if line.startswith("| ")]
    assert len(rows) > 10
    assert all("::test_" in row for row in rows[1:])
