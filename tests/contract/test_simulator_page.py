"""docs/simulator.md lists exactly what can be written into a scenario, and the files there are."""

import re
from pathlib import Path

from watcher.simulator.aws.scenario import INSTANCE_KEYS
from watcher.simulator.aws.vocabulary import WORDS
from watcher.simulator.faults import FaultKind

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "simulator.md").read_text()


def cells(heading: str) -> list[list[str]]:
    """Return the table rows under a heading, without the head of the table."""
    section = re.split(rf"^#+ {heading}$", PAGE, flags=re.MULTILINE)[1]
    section = re.split(r"^#", section, flags=re.MULTILINE)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


def test_page_lists_every_change_with_every_field() -> None:
    """A reader can write whatever the program can read, and nothing else."""
    listed: dict[str, set[str]] = {}
    for change, field, *_ in cells("Changes"):
        fields = listed.setdefault(change or list(listed)[-1], set())
        fields.update({field} - {""})
    assert listed == {name: set(word.fields) for name, word in WORDS.items()}


def test_page_lists_every_key_of_the_instance() -> None:
    """Likewise."""
    assert sorted(key for key, *_ in cells("`instance`")) == sorted(INSTANCE_KEYS)


def test_page_lists_every_kind_of_fault() -> None:
    """Those that last, and the one that happens once."""
    assert [kind for kind, *_ in cells("Faults")] == [*FaultKind, "expire_tokens"]


def test_page_lists_every_ready_scenario() -> None:
    """By the file's name."""
    files = {file.stem for file in (ROOT / "examples" / "scenarios").iterdir()}
    assert {name for name, *_ in cells("Scenario files")} == files
