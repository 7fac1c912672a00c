"""Each change in words becomes that change, with Compute Engine's own defaults."""

import pytest

from watcher.simulator.changes import Change
from watcher.simulator.gcp.changes import (
    EtagsRenewed,
    MaintenanceEventSet,
    MaintenanceUpcoming,
    NoMaintenanceUpcoming,
    Nothing,
    PreemptedSet,
    Style,
)
from watcher.simulator.gcp.vocabulary import WORDS
from watcher.simulator.values import ScenarioError
from watcher.simulator.vocabulary import SHARED_WORDS, change_of

DAY_S = 86_400


@pytest.mark.parametrize(
    ("name", "fields", "change"),
    [
        ("preempted", {}, PreemptedSet(at_s=3, value="TRUE")),
        ("preempted", {"value": "FALSE"}, PreemptedSet(at_s=3, value="FALSE")),
        (
            "maintenance_event",
            {},
            MaintenanceEventSet(at_s=3, value="TERMINATE_ON_HOST_MAINTENANCE"),
        ),
        ("maintenance_event", {"value": "NONE"}, MaintenanceEventSet(at_s=3, value="NONE")),
        (
            "upcoming_maintenance",
            {},
            MaintenanceUpcoming(
                at_s=3,
                start_s=7 * DAY_S,
                end_s=7 * DAY_S + 14_400,
                latest_start_s=None,
                status="PENDING",
                kind="SCHEDULED",
                reasons=("PLANNED_UPDATE",),
                can_reschedule=True,
                style=Style.SNAKE,
                is_wrapped=False,
            ),
        ),
        (
            "upcoming_maintenance",
            {
                "start_s": -60,
                "end_s": 0,
                "latest_start_s": 60,
                "status": "ONGOING",
                "type": "UNSCHEDULED",
                "reasons": ["FAILURE_GPU", "FAILURE_NVLINK"],
                "can_reschedule": False,
                "style": "camel",
                "wrapped": True,
            },
            MaintenanceUpcoming(
                at_s=3,
                start_s=-60,
                end_s=0,
                latest_start_s=60,
                status="ONGOING",
                kind="UNSCHEDULED",
                reasons=("FAILURE_GPU", "FAILURE_NVLINK"),
                can_reschedule=False,
                style=Style.CAMEL,
                is_wrapped=True,
            ),
        ),
        ("no_upcoming_maintenance", {}, NoMaintenanceUpcoming(at_s=3, said_as=Nothing.EMPTY)),
        (
            "no_upcoming_maintenance",
            {"said_as": "missing"},
            NoMaintenanceUpcoming(at_s=3, said_as=Nothing.MISSING),
        ),
        ("new_etags", {}, EtagsRenewed(at_s=3)),
    ],
)
def test_words_become_the_change_that_they_describe(
    name: str, fields: dict[str, object], change: Change
) -> None:
    """No field is dropped."""
    assert change_of(WORDS, name, fields, 3) == change


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("notice", {}, "unknown change 'notice'"),
        ("preempted", {"value": ""}, "value must be printable"),
        ("preempted", {"values": "TRUE"}, "the nearest known one is value"),
        ("maintenance_event", {"value": None}, "value must be printable"),
        ("upcoming_maintenance", {"start_s": "soon"}, "start_s must be a number"),
        ("upcoming_maintenance", {"start_s": 60, "end_s": 59}, "end_s must be start_s or later"),
        ("upcoming_maintenance", {"reasons": "FAILURE_GPU"}, "reasons must be a list"),
        ("upcoming_maintenance", {"reasons": [5]}, "a reason must be printable"),
        ("upcoming_maintenance", {"style": "kebab"}, "style must be one of snake, camel"),
        ("upcoming_maintenance", {"can_reschedule": "true"}, "can_reschedule must be true or"),
        ("no_upcoming_maintenance", {"said_as": "null"}, "said_as must be one of empty, text"),
        ("new_etags", {"key": "preempted"}, "unknown field 'key'; known: none"),
    ],
)
def test_words_are_refused_when_they_make_no_sense(
    name: str, fields: dict[str, object], reason: str
) -> None:
    """With what was meant, as far as one can guess."""
    with pytest.raises(ScenarioError, match=reason):
        change_of(WORDS, name, fields, 3)


def test_words_have_those_of_every_cloud_beside_their_own() -> None:
    """Faults happen to any metadata server."""
    assert SHARED_WORDS.items() <= WORDS.items()
