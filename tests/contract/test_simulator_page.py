"""The simulators' pages list exactly what can be written into a scenario, and what is ready."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from watcher.simulator.aws.scenario import INSTANCE_KEYS as AWS_KEYS
from watcher.simulator.azure.scenario import INSTANCE_KEYS as AZURE_KEYS
from watcher.simulator.clouds import SIMULATORS
from watcher.simulator.faults import FaultKind
from watcher.simulator.gcp.scenario import INSTANCE_KEYS as GCP_KEYS

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Page:
    """The page about one cloud."""

    cloud: str
    name: str
    instance_keys: tuple[str, ...]

    def cells(self, heading: str) -> list[list[str]]:
        """Return the table rows under a heading, without the head of the table."""
        page = (ROOT / "docs" / self.name).read_text()
        section = re.split(rf"^#+ {heading}$", page, flags=re.MULTILINE)[1]
        section = re.split(r"^#", section, flags=re.MULTILINE)[0]
        rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
        return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


AWS = Page("aws", "simulator.md", AWS_KEYS)
PAGES = (
    AWS,
    Page("gcp", "simulator-gcp.md", GCP_KEYS),
    Page("azure", "simulator-azure.md", AZURE_KEYS),
)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.cloud))


@every_page
def test_page_lists_every_change_with_every_field(page: Page) -> None:
    """A reader can write whatever the program can read, and nothing else."""
    listed: dict[str, set[str]] = {}
    for change, field, *_ in page.cells("Changes"):
        fields = listed.setdefault(change or list(listed)[-1], set())
        fields.update({field} - {""})
    words = SIMULATORS[page.cloud].words
    assert listed == {name: set(word.fields) for name, word in words.items()}


@every_page
def test_page_lists_every_key_of_the_instance(page: Page) -> None:
    """Likewise."""
    assert sorted(key for key, *_ in page.cells("`instance`")) == sorted(page.instance_keys)


@every_page
def test_page_lists_every_ready_scenario(page: Page) -> None:
    """By the file's name."""
    files = {file.stem for file in (ROOT / "examples" / "scenarios").glob(f"{page.cloud}-*")}
    assert {name for name, *_ in page.cells("Scenario files")} == files


def test_page_lists_every_kind_of_fault() -> None:
    """Those that last, and the one that happens once; the other pages refer to this one."""
    assert [kind for kind, *_ in AWS.cells("Faults")] == [*FaultKind, "expire_tokens"]
