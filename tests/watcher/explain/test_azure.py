"""`explain` on Azure's document: whose events, and what they would do."""

import json
from typing import Any

import pytest

from tests.support.azure_bodies import DATA, ME
from watcher.cli import main

NOW = ("--now", "2026-11-30T10:05:08Z")


def explained(capsys: pytest.CaptureFixture[str], name: str, *options: str) -> dict[str, Any]:
    """Explain a document, and return the object that was printed."""
    with pytest.raises(SystemExit) as ended:
        main(["explain", "azure-scheduled-events", str(DATA / f"{name}.json"), *options, *NOW])
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert ended.value.code == (1 if "refused" in printed else 0)
    return printed


def test_eviction_is_a_notice_when_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """What the flag file would say, and what the policy makes of it."""
    [notice] = explained(capsys, "preempt", "--vm-name", ME)["notices"]
    assert notice["id"] == f"azure-preempt-0a1b2c3d-0007-4a00-8000-000000000007-{ME}"
    assert (notice["kind"], notice["urgency"], notice["left_s"]) == ("preemption", "stop", 29)
    assert notice["instance_id"] == ME


def test_only_ours_are_notices_when_the_machine_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a name every event is explained."""
    ours = explained(capsys, "several", "--vm-name", ME.upper())["notices"]
    assert [notice["action"] for notice in ours] == ["Freeze", "Reboot"]
    assert len(explained(capsys, "several")["notices"]) == 3


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none", "no event is scheduled"),
        ("sibling", f"the events are for other machines than {ME}"),
    ],
)
def test_document_is_ignored_when_it_has_nothing_of_ours(
    capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    """And the reason is told."""
    assert explained(capsys, name, "--vm-name", ME) == {"ignored": why}


def test_event_days_ahead_acts_later_when_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """A machine does not stand idle for a week."""
    [notice] = explained(capsys, "redeploy-in-days", "--vm-name", ME)["notices"]
    assert notice["deadline"] == "2026-12-07T10:05:08Z"
    assert notice["acts_from"] == "2026-12-07T09:50:08Z"
