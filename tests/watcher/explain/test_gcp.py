"""`explain` on what Google's metadata server says, and on the ways in which it says nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from watcher.cli import main

DATA = Path(__file__).parents[2] / "data" / "gcp" / "metadata"
NOW = ("--now", "2026-11-30T10:05:08Z")


def explained(capsys: pytest.CaptureFixture[str], source: str, file: Path) -> dict[str, Any]:
    """Explain a body, and return the object that was printed."""
    with pytest.raises(SystemExit) as ended:
        main(["explain", source, str(file), "--instance-id", "42", *NOW])
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert ended.value.code == (1 if "refused" in printed else 0)
    return printed


@pytest.mark.parametrize(
    ("source", "name", "told"),
    [
        ("gcp-preempted", "preempted-true.txt", ("preemption", "stop", 30)),
        ("gcp-maintenance-event", "event-terminate.txt", ("maintenance", "stop", 60)),
        ("gcp-maintenance-event", "event-migrate.txt", ("live_migration", "advisory", 60)),
        ("gcp-upcoming-maintenance", "upcoming-scheduled.json", ("maintenance", "stop", 114_892)),
        ("gcp-upcoming-maintenance", "upcoming-camel.json", ("hardware", "stop", 114_892)),
        ("gcp-upcoming-maintenance", "upcoming-wrapped.json", ("maintenance", "stop", 60)),
    ],
)
def test_body_is_a_notice_when_it_announces_something(
    capsys: pytest.CaptureFixture[str], source: str, name: str, told: tuple[str, str, float]
) -> None:
    """What the flag file would say."""
    [notice] = explained(capsys, source, DATA / name)["notices"]
    assert (notice["kind"], notice["urgency"], notice["left_s"]) == told
    assert (notice["source"], notice["instance_id"]) == ("gcp_metadata", "42")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("gcp-preempted", "preempted-false.txt"),
        ("gcp-maintenance-event", "event-none.txt"),
        ("gcp-upcoming-maintenance", "upcoming-empty.json"),
        ("gcp-upcoming-maintenance", "upcoming-none.txt"),
        ("gcp-upcoming-maintenance", "upcoming-none.json"),
        ("gcp-upcoming-maintenance", "upcoming-error.json"),
    ],
)
def test_body_is_ignored_when_it_announces_nothing(
    capsys: pytest.CaptureFixture[str], source: str, name: str
) -> None:
    """And that is a success."""
    assert list(explained(capsys, source, DATA / name)) == ["ignored"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("gcp-preempted", "event-none.txt"),
        ("gcp-maintenance-event", "preempted-true.txt"),
        ("gcp-upcoming-maintenance", "preempted-false.txt"),
    ],
)
def test_body_is_refused_when_it_is_another_keys(
    capsys: pytest.CaptureFixture[str], source: str, name: str
) -> None:
    """It is unknown what the right one says."""
    assert list(explained(capsys, source, DATA / name)) == ["refused"]


API = DATA.parent
ME = "1234567890123456789"


@pytest.mark.parametrize(
    ("source", "name", "instance_id", "told"),
    [
        ("gcp-pubsub", "entry-preempted", ME, [("preemption", "stop")]),
        ("gcp-pubsub", "entry-terminated", ME, [("maintenance", "stop")]),
        ("gcp-pubsub", "entry-migrated", ME, [("live_migration", "advisory")]),
        ("gcp-pubsub", "entry-preempted", "42", "it is for other instances than 42"),
        (
            "gcp-instance",
            "instance-flex-start",
            ME,
            [("capacity_end", "stop"), ("maintenance", "stop")],
        ),
        ("gcp-instance", "instance-spot", ME, "no end of the VM is known ahead"),
    ],
)
def test_body_of_an_api_is_explained_to_its_vm(
    capsys: pytest.CaptureFixture[str],
    source: str,
    name: str,
    instance_id: str,
    told: list[tuple[str, str]] | str,
) -> None:
    """By the parsers that the daemon and the relay call."""
    with pytest.raises(SystemExit) as ended:
        main(["explain", source, str(API / f"{name}.json"), "--instance-id", instance_id, *NOW])
    assert ended.value.code == 0
    printed = json.loads(capsys.readouterr().out)
    if isinstance(told, str):
        assert printed == {"ignored": told}
    else:
        assert [(one["kind"], one["urgency"]) for one in printed["notices"]] == told


@pytest.mark.parametrize(
    ("source", "name"),
    [("gcp-pubsub", "instance-spot"), ("gcp-instance", "entry-preempted")],
)
def test_body_of_an_api_is_refused_when_it_is_another_one(
    capsys: pytest.CaptureFixture[str], source: str, name: str
) -> None:
    """Nothing of it is what this kind has."""
    assert "refused" in explained(capsys, source, API / f"{name}.json")
