"""What a document of Azure's Scheduled Events means, also one that Azure should never send."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.azure_bodies import DATA, ME, body, document, event, left_s, only, read
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind
from watcher.sources.azure_document import SCHEDULED_WINDOW_S

MEANT: dict[str, list[tuple[NoticeKind, str, float]]] = {
    "none": [],
    "preempt": [(NoticeKind.PREEMPTION, "Preempt", 29)],
    "preempt-started": [(NoticeKind.PREEMPTION, "Preempt", 0)],
    "freeze": [(NoticeKind.LIVE_MIGRATION, "Freeze", 899)],
    "freeze-started": [(NoticeKind.LIVE_MIGRATION, "Freeze", 0)],
    "reboot-by-user": [(NoticeKind.MAINTENANCE, "Reboot", 862)],
    "reboot-without-warning": [(NoticeKind.MAINTENANCE, "Reboot", 0)],
    "redeploy-in-days": [(NoticeKind.MAINTENANCE, "Redeploy", 7 * 86_400)],
    "terminate": [(NoticeKind.TERMINATION, "Terminate", 300)],
    "sibling": [],
    "several": [
        (NoticeKind.LIVE_MIGRATION, "Freeze", 899),
        (NoticeKind.MAINTENANCE, "Reboot", 862),
    ],
}


def test_every_document_has_a_meaning_when_compared() -> None:
    """Else the table would leave one out."""
    assert set(MEANT) == {path.stem for path in DATA.glob("*.json")}


@pytest.mark.parametrize("name", MEANT)
def test_document_means_what_the_table_says_when_well_formed(name: str) -> None:
    """A kind, Azure's own word, the seconds that are left, and nothing odd."""
    notices = [told.notice for told in read(body(name)).events]
    assert [(n.kind, n.action, left_s(n)) for n in notices] == MEANT[name]
    assert all("malformed" not in notice.detail for notice in notices)
    assert all(notice.source == "azure_events" for notice in notices)
    assert all(notice.instance_id == ME for notice in notices)


def test_event_keeps_the_clouds_own_words_when_told() -> None:
    """For people, who may want to look it up."""
    notice = only("freeze")
    assert notice.id == f"azure-freeze-0a1b2c3d-0001-4a00-8000-000000000001-{ME}"
    assert notice.detail == {
        "EventId": "0A1B2C3D-0001-4A00-8000-000000000001",
        "EventStatus": "Scheduled",
        "NotBefore": "Mon, 30 Nov 2026 10:20:07 GMT",
        "EventSource": "Platform",
        "Description": "the host moves the machine, memory is kept",
        "DurationInSeconds": "9",
        "Resources": "gpu-vmss_0, gpu-vmss_3",
    }


def test_event_has_one_id_when_it_starts() -> None:
    """The same fact before and after, in whatever case its id is written."""
    started = only("preempt-started", EventId=event("preempt")["EventId"].lower())
    assert started.id == only("preempt").id
    assert only("preempt", EventType="Reboot").id != only("preempt").id


@pytest.mark.parametrize("name", ["gpu-vmss_3", "GPU-VMSS_3", "gpu-vmss_3 "])
def test_event_is_ours_when_the_name_differs_only_in_case(name: str) -> None:
    """Azure's names are the same in capitals."""
    assert len(read(document(event("preempt", Resources=["other", name]))).events) == 1


@pytest.mark.parametrize("name", ["gpu-vmss_33", "gpu-vmss_30", "gpu-vmss", "xgpu-vmss_3", ""])
def test_event_is_anothers_when_the_name_only_resembles_ours(name: str) -> None:
    """A part of a name is another machine."""
    told = read(document(event("preempt", Resources=[name])))
    assert told.events == ()
    assert told.others == (event("preempt")["EventId"],)


@pytest.mark.parametrize("names", [None, [], "gpu-vmss_0", {}, ["gpu-vmss_0", None], [3], [[ME]]])
def test_event_is_ours_when_it_does_not_say_whose_it_is(names: object) -> None:
    """Unknown is not "somebody else's"."""
    [told] = read(document(event("preempt", Resources=names))).events
    assert told.notice.detail["malformed"].startswith("Resources")
    assert not told.is_alone


def test_event_is_anybodys_when_we_have_no_name() -> None:
    """The caller has to decide then."""
    assert len(read(body("several"), None).events) == 3


@pytest.mark.parametrize(
    ("names", "is_alone"),
    [([ME], True), ([ME, "GPU-VMSS_3"], True), ([ME, "gpu-vmss_0"], False)],
)
def test_event_is_ours_alone_when_no_other_is_named(names: list[str], is_alone: bool) -> None:  # noqa: FBT001 - a column of the table
    """What an approval needs to know."""
    [told] = read(document(event("preempt", Resources=names))).events
    assert told.is_alone is is_alone


@pytest.mark.parametrize(
    ("changes", "expected_s"),
    [
        ({"NotBefore": "Mon, 30 Nov 2026 10:05:18 GMT"}, 10),
        ({"NotBefore": "Mon, 30 Nov 2026 11:05:08 GMT"}, 30),
        ({"NotBefore": "Mon, 30 Nov 2026 09:05:08 GMT"}, -3600),
        ({"NotBefore": "2026-11-30T10:05:18Z"}, 10),
        ({"NotBefore": "2026-11-30T10:05:18.5"}, 10.5),
        ({"NotBefore": "30 Nov 26 10:05 +0000"}, -8),
        ({"NotBefore": "Monday, 30-Nov-26 10:05:18 GMT"}, 10),
        ({"NotBefore": ""}, 0),
        ({"NotBefore": "", "EventStatus": "Started"}, 0),
        ({"EventStatus": "Started"}, 0),
        ({"EventStatus": "started "}, 0),
        ({"EventType": "preempt", "NotBefore": "Mon, 30 Nov 2026 11:05:08 GMT"}, 30),
        ({"EventType": "Terminate", "NotBefore": "Mon, 30 Nov 2026 11:05:08 GMT"}, 900),
        ({"EventType": "Freeze", "NotBefore": "Mon, 30 Nov 2026 10:10:08 GMT"}, 300),
        ({"EventType": "Redeploy", "NotBefore": "Mon, 30 Nov 2099 10:10:08 GMT"}, 7_776_000),
    ],
)
def test_event_leaves_the_time_that_is_believed_when_stated(
    changes: dict[str, object], expected_s: float
) -> None:
    """The time itself where it is nearer than the promise; none once the event has started."""
    notice = only("preempt", **changes)
    assert left_s(notice) == expected_s
    assert "malformed" not in notice.detail


@pytest.mark.parametrize(
    "time",
    [
        *(None, 5, True, [], {}, "soon", "tomorrow at ten", "Mon, 31 Nov 2026 10:05:18 GMT"),
        *("Mo, 30 Nov 2026 10:05:18 GMT", "30 Dez 2026 10:05:18 GMT", "2026-11-30", " "),
        *("Sun, 30 Nov 1969 10:05:18 GMT", "\ud800", "9" * 5000),
    ],
)
def test_event_has_no_deadline_when_its_time_is_odd(time: object) -> None:
    """The policy counts the kind's own window then."""
    notice = only("preempt", NotBefore=time)
    assert notice.deadline is None
    assert notice.detail["malformed"].startswith("NotBefore")


@pytest.mark.parametrize("word", [None, "", "Evaporate", 7, ["Preempt"], {}, "x" * 5000, "\ud800"])
def test_event_is_information_when_its_type_is_unknown(word: object) -> None:
    """A type that nobody has documented: no reason to stop, and one to save soon."""
    notice = only("preempt", EventType=word)
    assert notice.kind is NoticeKind.REBALANCE
    assert notice.detail["malformed"].startswith("EventType")
    assert len(notice.id) < 300
    assert notice.id.isascii()


@pytest.mark.parametrize("word", [None, "", "Completed", "Canceled", 7, []])
def test_event_is_a_notice_when_its_status_is_unknown(word: object) -> None:
    """Only its absence says that it is over."""
    notice = only("preempt", EventStatus=word)
    assert (notice.kind, left_s(notice)) == (NoticeKind.PREEMPTION, 29)
    assert notice.detail["malformed"].startswith("EventStatus")


@pytest.mark.parametrize("word", [None, "", 7, []])
def test_event_is_a_notice_when_it_has_no_id(word: object) -> None:
    """Its type tells it from another then."""
    notice = only("preempt", EventId=word)
    assert notice.id == f"azure-preempt-unknown-{ME}"
    assert notice.detail["malformed"].startswith("EventId")


def test_event_is_a_notice_when_nothing_but_its_type_can_be_read() -> None:
    """Each oddity is named."""
    [told] = read(document({"EventType": "Preempt"})).events
    assert told.notice.kind is NoticeKind.PREEMPTION
    assert told.notice.detail["malformed"] == (
        "EventStatus is NoneType, EventId is NoneType, Resources is NoneType, NotBefore is NoneType"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + body("preempt"),
        b"\r\n " + body("preempt") + b"\n\n",
        body("preempt").decode().encode("utf-16"),
        document(event("preempt", Extra={"a": [1]}), incarnation=None),
        document(event("preempt"), incarnation="2"),
    ],
    ids=["byte order mark", "white space", "utf-16", "more keys", "odd incarnation"],
)
def test_document_is_read_when_dressed_differently(data: bytes) -> None:
    """What surrounds the facts does not matter."""
    [told] = read(data).events
    assert "malformed" not in told.notice.detail


@pytest.mark.parametrize(
    ("incarnation", "expected"),
    [(2, 2), (0, 0), (10**30, 10**30), (True, None), ("2", None), (None, None), (2.5, None)],
)
def test_incarnation_is_a_whole_number_or_unknown_when_read(
    incarnation: object, expected: int | None
) -> None:
    """It is only compared."""
    assert read(document(incarnation=incarnation)).incarnation == expected


def test_event_stands_when_the_list_has_strange_company() -> None:
    """It is told, and the document is no proof that another event has gone."""
    told = read(document(None, event("preempt"), "x", {}))
    assert [one.notice.detail["malformed"] for one in told.events] == ["3 more entries"]
    assert not told.is_whole


FOREIGN = [
    b"",
    b" ",
    b"null",
    b"true",
    b"42",
    b"[]",
    b"{}",
    b'{"DocumentIncarnation": 1}',
    b'{"events": []}',
    b'{"Events": null}',
    b'{"Events": {}}',
    b'{"Events": "[]"}',
    b'{"Events": [null]}',
    b'{"Events": [{}]}',
    b'{"Events": [[]]}',
    b'{"Events": [17, true]}',
    b'{"Events": [{"eventid": "x"}]}',
    b'[{"Events": []}]',
    b'{"DocumentIncarnation": 2, "Events": [',
    b'{"DocumentIncarnation": 2, "Events": []',
    b'{"Events": []} {"Events": []}',
    b"{'Events': []}",
    b'{"error": "Bad request. api-version is invalid"}',
    b"<!DOCTYPE html><html><body>Sign in to continue</body></html>",
    b"TRUE",
    b"\x00\x01\x02\xff\xfe",
    b"[" * 100_000,
    b'{"Events": ' + b"[" * 100_000,
    b'{"Events": [' + b"9" * 5_000 + b"]}",
]


@pytest.mark.parametrize("data", FOREIGN, ids=range(len(FOREIGN)))
def test_document_is_malformed_when_the_body_is_not_the_clouds(data: bytes) -> None:
    """Unknown, which is neither an event nor none; an empty body is not "no events"."""
    with pytest.raises(SourceMalformed) as caught:
        read(data)
    assert len(str(caught.value)) < 500


def test_document_is_malformed_when_what_can_not_be_read_may_be_ours() -> None:
    """A sibling's event beside it changes nothing."""
    with pytest.raises(SourceMalformed, match="1 entries"):
        read(document(event("sibling"), None))


@given(st.binary(max_size=200))
def test_parser_answers_or_refuses_when_fed_any_bytes(data: bytes) -> None:
    """No body whatever raises anything but SourceMalformed."""
    try:
        read(data)
    except SourceMalformed:
        return


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.dictionaries(st.sampled_from(sorted(event("preempt"))), VALUES)


@given(st.lists(EVENTS | VALUES, max_size=4), VALUES)
def test_parser_keeps_to_its_word_when_values_are_anything(
    events: list[object], incarnation: object
) -> None:
    """Every entry is counted, every id can be logged, and no deadline is beyond belief."""
    data = json.dumps({"DocumentIncarnation": incarnation, "Events": events}).encode()
    try:
        told = read(data)
    except SourceMalformed:
        return
    assert len(told.events) + len(told.others) <= len(events)
    for one in told.events:
        assert one.notice.id.isascii()
        assert " " not in one.notice.id
        assert (left_s(one.notice) or 0) <= SCHEDULED_WINDOW_S
        assert len(json.dumps(dict(one.notice.detail))) < 3000
