"""What answers of the Compute API mean: documented ones, spoilt ones, and any at all."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.gcp_bodies import ABSENT, RECEIVED, body, changed, said
from tests.support.scripted_google import ME
from watcher.errors import SourceMalformed
from watcher.notice import Deadline, NoticeKind
from watcher.policy import stand
from watcher.sources.gcp_instance import Seen, parse_instance, read_instance

FLEX, SPOT = "instance-flex-start", "instance-spot"
END = datetime(2026, 11, 30, 18, 5, 6, 123_000, tzinfo=UTC)
WINDOW = datetime(2026, 12, 1, 18, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def seen(name: str, path: str = "name", value: object = "node-1") -> Seen:
    """Read a body with one value changed."""
    return read_instance(changed(name, path, value), RECEIVED, ME)


def deadline(at: datetime) -> Deadline:
    """Return an instant as the daemon keeps it."""
    return Deadline.stated(at, seen=RECEIVED, longest_s=1e9)


def test_instance_is_read_when_its_run_time_is_limited() -> None:
    """By the end that Google states, not by the duration, and beside it the planned maintenance."""
    end, maintenance = parse_instance(body(FLEX), RECEIVED, ME).notices
    assert (end.kind, end.action, end.instance_id) == (NoticeKind.CAPACITY_END, "DELETE", ME)
    assert end.deadline == deadline(END)
    assert end.id == f"gcp-run-time-2026-11-30T18:05:06.123000Z-{ME}"
    assert end.detail == {"provisioningModel": "FLEX_START", "ends": "2026-11-30T18:05:06.123000Z"}
    assert (maintenance.kind, maintenance.source) == (NoticeKind.MAINTENANCE, "gcp_compute")
    assert maintenance.id.startswith("gcp-compute-gcp-upcoming-maintenance-SCHEDULED-2026-12-01")
    assert maintenance.deadline == deadline(WINDOW)
    assert not stand(end).is_due(RECEIVED)


def test_instance_has_no_notice_when_nothing_is_planned() -> None:
    """But a warning before its preemption, if it was made so."""
    read = parse_instance(body(SPOT), RECEIVED, ME)
    assert read.notices == ()
    assert read.instance.facts == {
        "provisioning_model": "SPOT",
        "termination_action": "STOP",
        "on_host_maintenance": "TERMINATE",
        "preemption_notice_s": "120",
    }


@pytest.mark.parametrize(
    ("path", "value", "ends"),
    [
        ("resourceStatus/scheduling/terminationTimestamp", "2026-11-30T12:00:00Z", (12, 0, 0)),
        ("resourceStatus/scheduling/terminationTimestamp", "2026-11-30T12:00:00.123456789Z", ()),
        ("resourceStatus/scheduling", {}, (18, 5, 6)),
        ("resourceStatus/scheduling", [], (18, 5, 6)),
        ("resourceStatus", ABSENT, (18, 5, 6)),
        ("resourceStatus/scheduling/terminationTimestamp", "", (18, 5, 6)),
    ],
)
def test_end_of_the_run_time_is_the_best_known_when_less_is_said(
    path: str, value: object, ends: tuple[int, ...]
) -> None:
    """Stated, else reckoned from the last start and the duration."""
    (end,) = (one for one in seen(FLEX, path, value).notices if one.kind == "capacity_end")
    assert end.deadline is not None
    wall = end.deadline.wall
    assert (wall.hour, wall.minute, wall.second) == (ends or (12, 0, 0))


def test_end_of_the_run_time_is_that_of_the_setting_when_only_that_is_said() -> None:
    """An instant instead of a duration."""
    message = said(SPOT)
    message["scheduling"]["terminationTime"] = "2026-11-30T18:05:06.123Z"
    (end,) = read_instance(message, RECEIVED, ME).notices
    assert end.deadline == deadline(END)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("lastStartTimestamp", "2026-12-01T00:00:00Z"),
        ("lastStartTimestamp", "2026-11-30T18:05:06.123Z"),
    ],
)
def test_end_of_the_run_time_is_no_notice_when_it_was_of_an_earlier_life(
    path: str, value: str
) -> None:
    """A VM that was stopped by its limit, and started again, may still show it."""
    kinds = [one.kind for one in seen(FLEX, path, value).notices]
    assert kinds == [NoticeKind.MAINTENANCE]


@pytest.mark.parametrize(
    "value", ["soon", 1764547506, True, {"seconds": 5}, "0001-01-01T00:00:00Z"]
)
def test_end_of_the_run_time_is_a_notice_when_its_time_is_odd(value: object) -> None:
    """Without a deadline, so the policy counts its shortest window."""
    end, _ = seen(FLEX, "resourceStatus/scheduling/terminationTimestamp", value).notices
    assert (end.kind, end.deadline) == (NoticeKind.CAPACITY_END, None)
    assert "terminationTimestamp" in end.detail["malformed"]


@pytest.mark.parametrize(
    "duration",
    [None, {}, {"seconds": "soon"}, {"seconds": -5}, {"seconds": "1" * 40}, {"nanos": 5}, "86400s"],
)
def test_run_time_is_unlimited_when_its_duration_is_none(duration: object) -> None:
    """Nobody states an end then."""
    message = changed(FLEX, "resourceStatus/scheduling", {})
    message["scheduling"]["maxRunDuration"] = duration
    kinds = [one.kind for one in read_instance(message, RECEIVED, ME).notices]
    assert kinds == [NoticeKind.MAINTENANCE]


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        ("scheduling/onHostMaintenance", "MIGRATE", NoticeKind.LIVE_MIGRATION),
        ("scheduling/onHostMaintenance", ABSENT, NoticeKind.MAINTENANCE),
        ("resourceStatus/upcomingMaintenance/maintenanceStatus", "ONGOING", NoticeKind.MAINTENANCE),
        ("resourceStatus/upcomingMaintenance/maintenanceStatus", "NEW", NoticeKind.MAINTENANCE),
        ("resourceStatus/upcomingMaintenance/type", 5, NoticeKind.MAINTENANCE),
        (
            "resourceStatus/upcomingMaintenance/maintenanceReasons",
            ["FAILURE_GPU"],
            NoticeKind.HARDWARE,
        ),
        ("resourceStatus/upcomingMaintenance/maintenanceStatus", "COMPLETE", None),
        ("resourceStatus/upcomingMaintenance", {}, None),
        ("resourceStatus/upcomingMaintenance", "NONE", None),
        ("resourceStatus/upcomingMaintenance", ABSENT, None),
    ],
)
def test_maintenance_is_what_the_vm_makes_of_it_when_it_is_planned(
    path: str, value: object, kind: NoticeKind | None
) -> None:
    """A VM that moves away survives it; what is complete is over."""
    _, *found = seen(FLEX, path, value).notices
    assert [one.kind for one in found] == ([kind] if kind else [])


def test_maintenance_is_a_notice_when_its_start_is_odd() -> None:
    """What goes on already may have lost its start."""
    path = "resourceStatus/upcomingMaintenance/windowStartTime"
    _, found = seen(FLEX, path, "tomorrow").notices
    assert found.deadline is None
    assert found.detail["malformed"] == "windowStartTime 'tomorrow'"


@pytest.mark.parametrize(
    ("value", "notice_s"),
    [
        ({"seconds": "120"}, 120),
        ({"seconds": 120}, 120),
        ({"seconds": "0"}, 0),
        ({"seconds": "3600"}, 120),
        ({"seconds": "-5"}, 0),
        ({"seconds": "1e3"}, 0),
        ({"seconds": "١٢٠"}, 0),
        ({"seconds": None}, 0),
        ({}, 0),
        ("120s", 0),
        (None, 0),
    ],
)
def test_warning_is_never_believed_longer_than_promised(value: object, notice_s: float) -> None:
    """And what can't be read is none: a deadline believed too late loses the work."""
    path = "scheduling/preemptionNoticeDuration"
    assert seen(SPOT, path, value).instance.notice_s == notice_s


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", "9876543210987654321"),
        ("id", ABSENT),
        ("id", 1234567890123456789),
        ("id", "i-0abc"),
        ("id", "١٢"),
        ("id", ""),
        ("status", ABSENT),
        ("status", None),
        ("status", 5),
    ],
)
def test_instance_is_refused_when_it_is_not_this_one(path: str, value: object) -> None:
    """A managed group makes a new VM under the name of one that it has lost."""
    with pytest.raises(SourceMalformed, match="instance: "):
        seen(FLEX, path, value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"RUNNING"', "<html></html>", "[" * 9999])
def test_instance_is_refused_when_it_is_none(text: str) -> None:
    """Not Google's."""
    with pytest.raises(SourceMalformed):
        parse_instance(text, RECEIVED, None)


def is_sound(message: object) -> None:
    """Read an answer; whatever it is, what comes out can be acted on."""
    try:
        read = parse_instance(json.dumps(message), RECEIVED, None)
    except SourceMalformed as error:
        why = str(error)
        assert why.isprintable()
        return
    assert 0 <= read.instance.notice_s <= 120
    for notice in read.notices:
        stand(notice)
        assert notice.id.isascii()
        assert " " not in notice.id
        assert len(json.dumps(dict(notice.detail))) < 5000


@given(
    st.sampled_from(["id", "status", "lastStartTimestamp", "scheduling", "resourceStatus"]), JSON
)
def test_parser_answers_or_refuses_when_one_object_is_anything(key: str, value: object) -> None:
    """Of the fields that are asked for."""
    is_sound(said(FLEX) | {key: value})


@given(
    st.dictionaries(st.sampled_from(sorted(said(FLEX)["scheduling"])), JSON),
    st.dictionaries(
        st.sampled_from(sorted(said(FLEX)["resourceStatus"]["upcomingMaintenance"])), JSON
    ),
    JSON,
)
def test_parser_answers_or_refuses_when_what_is_in_them_is_anything(
    scheduling: dict[str, object], maintenance: dict[str, object], end: object
) -> None:
    """One level below."""
    status = {"scheduling": {"terminationTimestamp": end}, "upcomingMaintenance": maintenance}
    is_sound(said(SPOT) | {"scheduling": scheduling, "resourceStatus": status})
