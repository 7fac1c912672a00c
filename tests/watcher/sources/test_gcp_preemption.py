"""What the bodies of the two keys about now mean, also those that Google should never send."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, NoticeKind
from watcher.sources.gcp_preemption import parse_maintenance_event, parse_preempted

DATA = Path(__file__).parents[2] / "data" / "gcp" / "metadata"
RECEIVED = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)
VM = "1234567890123456789"
TERMINATE = b"TERMINATE_ON_HOST_MAINTENANCE"


@pytest.mark.parametrize(
    "body", [b"TRUE", b"TRUE\n", b" true ", b'"TRUE"', b"\xef\xbb\xbfTRUE\r\n", b"True"]
)
def test_preempted_is_a_preemption_in_30_s_when_true(body: bytes) -> None:
    """In any case, as text or as JSON; nothing states a time, so it counts from now."""
    notice = parse_preempted(body, RECEIVED, VM)
    assert notice is not None
    assert notice.kind is NoticeKind.PREEMPTION
    assert notice.deadline == Deadline.after(RECEIVED, 30)
    assert notice.id == f"gcp-preempted-{VM}"
    assert notice.detail == {"key": "instance/preempted"}


@pytest.mark.parametrize("body", [b"FALSE", b"false\n", b'"FALSE"', b"\xef\xbb\xbfFALSE"])
def test_preempted_is_nothing_when_false(body: bytes) -> None:
    """In any dress."""
    assert parse_preempted(body, RECEIVED, VM) is None


def test_preempted_has_its_whole_window_when_it_was_announced_ahead() -> None:
    """A VM that was made with a notice of 120 s has as long, and no more."""
    notice = parse_preempted(b"TRUE", RECEIVED, None, window_s=120)
    assert notice is not None
    assert notice.deadline == Deadline.after(RECEIVED, 120)
    assert notice.id == "gcp-preempted-unknown"


FOREIGN = [
    b"",
    b" ",
    b"\n",
    b"0",
    b"1",
    b"yes",
    b"null",
    b"NONE",
    b"{}",
    b"[]",
    b'{"preempted":"TRUE"}',
    b"TRUEFALSE",
    b"TRUE FALSE",
    b"T",
    b"T R U E",
    b"TRUE\x00",
    b"\x00TRUE",
    b"'TRUE'",
    b"<html>TRUE</html>",
    b"<html>\xff\x00</html>",
    b"TRUE" + b"x" * 200,
    b"404 page not found",
    "TRUE".encode("utf-16"),
    b"\xff\xfe",
    b"FALSE;TRUE",
    b"instance/",
]


@pytest.mark.parametrize("body", FOREIGN)
def test_word_is_refused_when_it_is_no_answer_to_the_question(body: bytes) -> None:
    """It is unknown whether the VM is preempted, and whether there is an event."""
    with pytest.raises(SourceMalformed):
        parse_preempted(body, RECEIVED, VM)
    if body != b"NONE":
        with pytest.raises(SourceMalformed):
            parse_maintenance_event(body, RECEIVED, VM)


@pytest.mark.parametrize(
    ("is_preemptible", "kind"),
    [
        (None, NoticeKind.MAINTENANCE),
        (False, NoticeKind.MAINTENANCE),
        (True, NoticeKind.PREEMPTION),
    ],
)
def test_termination_is_a_reclaim_when_the_vm_is_preemptible(
    *, is_preemptible: bool | None, kind: NoticeKind
) -> None:
    """A simulated event on a Spot VM may show on this key alone."""
    notice = parse_maintenance_event(
        TERMINATE, RECEIVED, VM, is_preemptible=is_preemptible, window_s=3600
    )
    assert notice is not None
    assert notice.kind is kind
    assert notice.deadline == Deadline.after(RECEIVED, 3600)
    assert notice.action == "TERMINATE_ON_HOST_MAINTENANCE"
    assert notice.id == f"gcp-maintenance-event-TERMINATE_ON_HOST_MAINTENANCE-{VM}"
    assert notice.detail == {"key": "instance/maintenance-event"}


@pytest.mark.parametrize("is_preemptible", [None, False, True])
def test_migration_is_advice_whatever_the_vm_is(*, is_preemptible: bool | None) -> None:
    """The VM survives it; nobody is told of it an hour ahead."""
    notice = parse_maintenance_event(
        b"MIGRATE_ON_HOST_MAINTENANCE\n",
        RECEIVED,
        VM,
        is_preemptible=is_preemptible,
        window_s=3600,
    )
    assert notice is not None
    assert notice.kind is NoticeKind.LIVE_MIGRATION
    assert notice.deadline == Deadline.after(RECEIVED, 60)


@pytest.mark.parametrize("body", [b"NONE", b"none\n", b'"NONE"', b"\xef\xbb\xbfNONE"])
def test_event_is_nothing_when_none(body: bytes) -> None:
    """In any dress."""
    assert parse_maintenance_event(body, RECEIVED, VM) is None


@pytest.mark.parametrize("word", ["SHUTDOWN", "RESTART", "X", "TERMINATE_AND_MOVE"])
def test_event_is_a_notice_when_its_word_is_new(word: str) -> None:
    """An old page of the documentation has another one; a positive answer stays one."""
    notice = parse_maintenance_event(f"{word}_ON_HOST_MAINTENANCE".encode(), RECEIVED, VM)
    assert notice is not None
    assert notice.kind is NoticeKind.MAINTENANCE
    assert notice.detail["malformed"] == f"event {word}_ON_HOST_MAINTENANCE"


@pytest.mark.parametrize(
    "body",
    [
        b"TRUE",
        b"FALSE",
        b"_ON_HOST_MAINTENANCE",
        b"TERMINATE",
        b"TERMINATE_ON_HOST_MAINTENANCE NONE",
        b"TERMINATE ON HOST MAINTENANCE",
        b"TERMINATE_ON_HOST_MAINTENANCE\x00",
        b"X" * 100 + b"_ON_HOST_MAINTENANCE",
        b"1_ON_HOST_MAINTENANCE",
    ],
)
def test_event_is_refused_when_its_word_is_of_another_kind(body: bytes) -> None:
    """It is unknown whether there is one."""
    with pytest.raises(SourceMalformed):
        parse_maintenance_event(body, RECEIVED, VM)


@given(st.binary(max_size=200))
def test_parsers_answer_or_refuse_when_given_any_bytes(body: bytes) -> None:
    """Nothing else comes out of them."""
    for parse in (parse_preempted, parse_maintenance_event):
        try:
            notice = parse(body, RECEIVED, VM)
        except SourceMalformed:
            continue
        assert notice is None or notice.received == RECEIVED


def test_documented_bodies_are_read_when_stored() -> None:
    """Each file of tests/data means what its name says."""
    kinds = {}
    for file in DATA.glob("*.txt"):
        parse = parse_preempted if file.name.startswith("preempted") else parse_maintenance_event
        if not file.name.startswith("upcoming"):
            notice = parse(file.read_bytes(), RECEIVED, VM)
            kinds[file.stem] = notice.kind if notice else None
    assert kinds == {
        "preempted-true": NoticeKind.PREEMPTION,
        "preempted-false": None,
        "event-none": None,
        "event-migrate": NoticeKind.LIVE_MIGRATION,
        "event-terminate": NoticeKind.MAINTENANCE,
    }
