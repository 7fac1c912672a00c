"""Each change in words becomes that change, with EC2's own defaults."""

import pytest

from watcher.simulator.aws.changes import (
    EventEnd,
    MaintenanceEnded,
    MaintenanceScheduled,
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    SpotAction,
    TargetStateSet,
    TokensExpired,
)
from watcher.simulator.aws.options import HttpEndpoint, HttpTokens, OptionsModified
from watcher.simulator.aws.vocabulary import DEFAULT_EVENT_ID, WORDS
from watcher.simulator.changes import Change, FaultsArmed, FaultsLifted
from watcher.simulator.faults import Fault, FaultKind
from watcher.simulator.values import ScenarioError
from watcher.simulator.vocabulary import change_of

EVENT = "instance-event-1"
DAY_S = 86_400


@pytest.mark.parametrize(
    ("name", "fields", "change"),
    [
        ("notice", {}, NoticeIssued(at_s=3, action=SpotAction.TERMINATE, window_s=120)),
        (
            "notice",
            {"action": "stop", "window_s": 30, "ago_s": 90, "sliding": True},
            NoticeIssued(at_s=3, action=SpotAction.STOP, window_s=30, ago_s=90, is_sliding=True),
        ),
        (
            "notice",
            {"action": "hibernate"},
            NoticeIssued(at_s=3, action=SpotAction.HIBERNATE, window_s=0),
        ),
        ("withdraw", {}, NoticeWithdrawn(at_s=3)),
        ("rebalance", {"sliding": True}, RebalanceRecommended(at_s=3, is_sliding=True)),
        (
            "maintenance",
            {},
            MaintenanceScheduled(
                at_s=3,
                event_id=DEFAULT_EVENT_ID,
                code="system-reboot",
                description="scheduled reboot",
                not_before_s=14 * DAY_S,
            ),
        ),
        (
            "maintenance",
            {
                "event_id": EVENT,
                "code": "instance-retirement",
                "description": "gone already",
                "not_before_s": -60,
                "not_after_s": 0,
                "not_before_deadline_s": DAY_S,
            },
            MaintenanceScheduled(
                at_s=3,
                event_id=EVENT,
                code="instance-retirement",
                description="gone already",
                not_before_s=-60,
                not_after_s=0,
                not_before_deadline_s=DAY_S,
            ),
        ),
        (
            "maintenance_end",
            {"event_id": EVENT, "state": "canceled", "stays_listed": True},
            MaintenanceEnded(at_s=3, event_id=EVENT, state=EventEnd.CANCELED, stays_listed=True),
        ),
        (
            "asg",
            {"target_state": "Warmed:Terminated"},
            TargetStateSet(at_s=3, state="Warmed:Terminated"),
        ),
        (
            "metadata_options",
            {"http_tokens": "optional", "http_endpoint": "disabled", "hop_limit": 64},
            OptionsModified(
                at_s=3,
                http_tokens=HttpTokens.OPTIONAL,
                http_endpoint=HttpEndpoint.DISABLED,
                hop_limit=64,
            ),
        ),
        ("fault", {"kind": "hang"}, FaultsArmed(at_s=3, faults=(Fault(kind=FaultKind.HANG),))),
        ("fault", {"kind": "expire_tokens"}, TokensExpired(at_s=3)),
        (
            "script",
            {"path_prefix": "/latest/", "answers": [{"kind": "hang"}]},
            FaultsArmed(
                at_s=3, faults=(Fault(kind=FaultKind.HANG, path_prefix="/latest/", count=1),)
            ),
        ),
        ("lift_faults", {}, FaultsLifted(at_s=3)),
    ],
)
def test_words_become_the_change_that_they_describe(
    name: str, fields: dict[str, object], change: Change
) -> None:
    """No field is dropped, and what is left out is what EC2 would do."""
    assert change_of(WORDS, name, fields, 3) == change


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("withdrawal", {}, "unknown change 'withdrawal'; the nearest known one is withdraw;"),
        ("notice", {"windows": 5}, "unknown field 'windows'; the nearest known one is window_s;"),
        ("notice", {"action": "terminated"}, "the action must be one of terminate, stop, hib"),
        ("notice", {"action": None}, "the action must be one of"),
        ("notice", {"ago_s": -1}, "ago_s must be 0 to"),
        ("notice", {"sliding": 1}, "sliding must be true or false"),
        ("withdraw", {"after": 1}, "unknown field 'after'; known: none"),
        ("maintenance", {"code": ""}, "code must be printable"),
        ("maintenance", {"not_before_s": 60, "not_after_s": 59}, "not_after_s must be"),
        ("maintenance", {"empty_not_after": True, "not_after_s": 5e6}, "without empty_not"),
        ("maintenance_end", {}, "state must be one of completed, canceled, not None"),
        ("maintenance_end", {"state": "cancelled"}, "completed, canceled, not 'cancelled'"),
        ("metadata_options", {"http_tokens": True}, "http_tokens must be one of"),
        ("metadata_options", {"hop_limit": 0}, "hop_limit must be"),
        ("fault", {"kind": "expire_tokens", "count": 1}, "takes no other field"),
    ],
)
def test_words_are_refused_when_they_make_no_sense(
    name: str, fields: dict[str, object], reason: str
) -> None:
    """With what was meant, as far as one can guess."""
    with pytest.raises(ScenarioError, match=reason):
        change_of(WORDS, name, fields, 3)
