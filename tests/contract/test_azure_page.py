"""docs/azure.md says what the source does."""

import re
from dataclasses import fields
from pathlib import Path

from tests.support.azure_bodies import event, only
from watcher.explain.azure import AZURE_BODIES
from watcher.policy import POLICY
from watcher.sources import azure_document, azure_schedule, azure_session
from watcher.sources.azure_config import AzureConfig

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "azure.md").read_text()
ROWS = re.findall(r"^\| (`[A-Z].*?|any other) \| `(\w+)`(.*?) \|", PAGE, flags=re.MULTILINE)


def test_page_has_the_kind_of_every_type_when_compared() -> None:
    """As the parser reads it, and as the policy ranks it."""
    types = {name: (kind, advice) for names, kind, advice in ROWS for name in names.split(", ")}
    assert len(types) == 6
    for name, (kind, advice) in types.items():
        notice = only("preempt", EventType=name.strip("`"))
        assert notice.kind == kind
        assert ("advice" in advice) == (POLICY[notice.kind].urgency == "advisory")


def test_page_has_the_figures_when_compared() -> None:
    """Those of the tables and the text are the constants."""
    assert f"at most {azure_document.PREEMPT_WINDOW_S:.0f} s away" in PAGE
    assert f"at most {azure_document.TERMINATE_WINDOW_S:.0f} s away" in PAGE
    assert f"at most {azure_document.SCHEDULED_WINDOW_S / 86_400:.0f} days away" in PAGE
    assert f"waited for up to {azure_session.FIRST_LIMIT_S:.0f} s" in PAGE
    assert f"Every other answer may take {azure_session.LIMIT_S:.0f} s" in PAGE
    assert azure_schedule.LOOKS_TO_WITHDRAW == 5
    assert "Five documents in a row" in PAGE
    assert azure_session.EVENTS_PATH in PAGE


def test_page_has_every_setting_with_its_default_when_compared() -> None:
    """In the words of the file."""
    for field in fields(AzureConfig):
        [row] = re.findall(rf"^\| `azure\.{field.name}` \| (.*?) \|", PAGE, flags=re.MULTILINE)
        if field.default is not None:
            assert str(field.default).removesuffix(".0") == row.strip("`")


def test_page_names_the_one_body_and_its_event_when_compared() -> None:
    """What ``explain`` takes, and an event of the test data."""
    assert set(AZURE_BODIES) == {"azure-scheduled-events"}
    assert event("preempt")["EventId"] in PAGE
