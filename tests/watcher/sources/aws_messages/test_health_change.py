"""One message of AWS Health, many instances; and what of it is not about them."""

import json

import pytest

from tests.support.aws_bodies import ABSENT, addressed, changed, left_s, only, read
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind
from watcher.sources.reading import Grounds, Ignored

REBOOT, MANY = "health-reboot", "health-retirement-of-three"


def grounds(message: bytes) -> Grounds:
    """Return why a message is ignored."""
    reading = read(message)
    assert isinstance(reading, Ignored)
    return reading.grounds


@pytest.mark.parametrize(
    "code", [ABSENT, None, "", 5, "AWS_EC2_SOMETHING_NEW", "aws_ec2_instance_stop_scheduled"]
)
def test_change_is_maintenance_when_its_code_is_odd(code: object) -> None:
    """There is no closed list of codes, so an unknown one is a change like any other."""
    notice = only(changed(REBOOT, "detail/eventTypeCode", code))
    assert notice.kind is NoticeKind.MAINTENANCE
    assert notice.detail["malformed"].startswith("eventTypeCode")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", NoticeKind.HARDWARE),
        ("AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED", NoticeKind.HARDWARE),
        ("AWS_EC2_INSTANCE_STOP_SCHEDULED", NoticeKind.MAINTENANCE),
        ("AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED", NoticeKind.MAINTENANCE),
        ("AWS_EC2_SYSTEM_REBOOT_MAINTENANCE_SCHEDULED", NoticeKind.MAINTENANCE),
        ("AWS_EC2_INSTANCE_NETWORK_MAINTENANCE_SCHEDULED", NoticeKind.MAINTENANCE),
    ],
)
def test_change_has_the_kind_of_its_code_when_it_is_known(code: str, kind: NoticeKind) -> None:
    """A host that retires may be failing already; the others wait for their time."""
    notice = only(changed(REBOOT, "detail/eventTypeCode", code))
    assert (notice.kind, notice.action) == (kind, code)
    assert "malformed" not in notice.detail


@pytest.mark.parametrize("status", ["open", "upcoming", "Closed?", "", None, 5, ["closed"]])
def test_change_stands_when_its_status_does_not_close_it(status: object) -> None:
    """Newer events have one; only the one word takes the announcement back."""
    assert only(changed(REBOOT, "detail/statusCode", status)).kind is NoticeKind.MAINTENANCE


def test_change_shows_where_and_whose_it_is_when_it_was_delivered_elsewhere() -> None:
    """The envelope's Region and account are those of the delivery, a backup or an organization."""
    message = json.loads(changed(MANY, "region", "us-west-2")) | {"account": "111111111111"}
    for told in addressed(json.dumps(message)):
        assert told.notice.detail["eventRegion"] == "eu-west-1"
        assert told.notice.detail["affectedAccount"] == "109876543210"


@pytest.mark.parametrize("ending", ["CANCELED", "CANCELLED", "COMPLETE", "COMPLETED"])
def test_change_is_closed_when_its_code_takes_it_back(ending: str) -> None:
    """Both spellings."""
    code = f"AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_{ending}"
    assert grounds(changed(REBOOT, "detail/eventTypeCode", code)) is Grounds.CLOSED


@pytest.mark.parametrize(
    ("start", "kept_s"),
    [
        ("Mon, 30 Nov 2026 11:05:08 GMT", 3600),
        ("30 Nov 2026 11:05:08 GMT", 3600),
        ("2026-11-30T11:05:08Z", 3600),
        ("2026-11-30T11:05:08.000Z", 3600),
        ("Mon, 30 Nov 2026 10:05:07 GMT", -1),
        ("Thu, 30 Nov 2028 10:05:06 GMT", 90 * 86_400),
    ],
)
def test_change_begins_at_its_start_when_written_in_any_way(start: str, kept_s: float) -> None:
    """Of AWS's date formats, and never further ahead than AWS plans."""
    notice = only(changed(REBOOT, "detail/startTime", start))
    assert left_s(notice) == kept_s
    assert "malformed" not in notice.detail


@pytest.mark.parametrize(
    "start",
    [
        ABSENT,
        None,
        "",
        5,
        "soon",
        "Sat, 31 Feb 2026 15:10:09 GMT",
        "Sat, 12 Dez 2026 15:10:09 GMT",
        "Sat, 12 Dec 2026 15:10:09 CET",
        "Sat, 12 Dec 2026 25:10:09 GMT",
    ],
)
def test_change_has_no_deadline_when_its_start_is_odd(start: object) -> None:
    """The policy then counts the kind's own window."""
    notice = only(changed(REBOOT, "detail/startTime", start))
    assert notice.deadline is None
    assert "startTime" in notice.detail["malformed"]


def test_change_is_one_fact_when_it_is_told_again() -> None:
    """An update repeats the ARN under another communication; a new start is news."""
    again = changed(MANY, "detail/communicationId", "aa11bb22cc33-7")
    moved = changed(MANY, "detail/startTime", "Sun, 13 Dec 2026 15:10:09 GMT")
    ids = [told.notice.id for told in addressed(again)]
    assert ids == [told.notice.id for told in addressed(changed(MANY, "id", "another"))]
    assert not set(ids) & {told.notice.id for told in addressed(moved)}


def test_change_tells_each_instance_once_when_the_list_is_untidy() -> None:
    """What is no instance in it costs nobody else their notice."""
    untidy = [
        {"entityValue": "i-0beef000000000009"},
        {"entityValue": "h-0feed000000000001"},
        {"entityValue": None},
        {},
        "i-0beef00000000000a",
        {"entityValue": "i-0beef000000000009"},
        {"entityValue": "i-0beef00000000000b"},
    ]
    told = addressed(changed(REBOOT, "detail/affectedEntities", untidy))
    named = [one.notice.instance_id for one in told]
    assert named == ["i-0beef000000000009", "i-0beef00000000000b"]


def test_change_tells_them_all_when_there_are_thousands() -> None:
    """A message has room for that many."""
    entities = [{"entityValue": f"i-{number:017x}"} for number in range(5000)]
    assert len(addressed(changed(REBOOT, "detail/affectedEntities", entities))) == 5000


@pytest.mark.parametrize("entities", [ABSENT, None, [], "i-0beef000000000004", [7], {}])
def test_change_uses_the_resources_when_it_has_no_entities(entities: object) -> None:
    """They hold bare ids here, so nothing has to be taken apart."""
    notice = only(changed(REBOOT, "detail/affectedEntities", entities))
    assert notice.instance_id == "i-0beef000000000004"


@pytest.mark.parametrize("entities", [ABSENT, None, [], "x", [7]])
def test_change_is_refused_when_it_names_nothing_at_all(entities: object) -> None:
    """Somebody's host goes, and we can't say whose."""
    with pytest.raises(SourceMalformed, match="affectedEntities"):
        read(changed(MANY, "detail/affectedEntities", entities))


@pytest.mark.parametrize("key", ["service", "eventTypeCategory"])
@pytest.mark.parametrize("value", [ABSENT, None, 5, ["EC2"]])
def test_event_is_refused_when_it_does_not_say_what_it_is(key: str, value: object) -> None:
    """It may or may not be about us."""
    with pytest.raises(SourceMalformed, match=key):
        read(changed(REBOOT, f"detail/{key}", value))


@pytest.mark.parametrize("value", ["accountNotification", "scheduledchange", "investigation", ""])
def test_event_is_ignored_when_it_is_no_scheduled_change(value: str) -> None:
    """Health tells of much that takes no instance."""
    assert grounds(changed(REBOOT, "detail/eventTypeCategory", value)) is Grounds.NOT_INSTANCES
