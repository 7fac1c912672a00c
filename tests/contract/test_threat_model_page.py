"""docs/threat-model.md names a test for each claim; each of them is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[^`:]+)::(test_\w+)`", PAGE)))


@pytest.mark.parametrize(("file", "test"), NAMED, ids=lambda word: word.rpartition("/")[2])
def test_claim_is_held_by_a_test_that_there_is(file: str, test: str) -> None:
    """A test that was renamed or removed takes its claim with it."""
    assert re.search(rf"^(async )?def {test}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_every_claim_names_a_test() -> None:
    """Each row of each table has one; what has none stands in the last section."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
    claims = [row for row in rows if not row.startswith("| claim")]
    assert len(claims) > 20
    assert all("::test_" in row for row in claims)
