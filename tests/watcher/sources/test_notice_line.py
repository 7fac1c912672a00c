"""A notice as a line of JSON: what is understood, what is doubted, what is refused."""

import json
from dataclasses import replace

import pytest

from tests.support.clocks import START
from watcher.errors import SourceMalformed
from watcher.notice import Notice, NoticeKind, rfc3339
from watcher.sources.notice_line import KINDS, LONGEST_S, Unsaid, bare, parse_line

UNSAID = Unsaid("command", NoticeKind.PREEMPTION)


def read(line: str | dict[str, object], unsaid: Unsaid = UNSAID) -> Notice:
    """Parse a line as it arrives at START."""
    text = line if isinstance(line, str) else json.dumps(line)
    return parse_line(text.encode(), START, unsaid)


def left_s(notice: Notice) -> float | None:
    """Return the seconds from START to the deadline."""
    return notice.deadline.boottime_s - START.boottime_s if notice.deadline else None


def test_line_is_a_notice_when_it_says_everything() -> None:
    """Every field arrives; those that nobody knows are ignored."""
    notice = read(
        {
            "id": "ocid1.instance.oc1..x",
            "kind": "maintenance",
            "deadline": "2026-11-30T10:07:06Z",
            "action": "TERMINATE",
            "instance_id": "ocid1",
            "detail": {"zone": "a", "n": 3, "is": True, "deep": {"a": 1}, "none": None},
            "withdrawn": False,
            "later": 1,
        }
    )
    assert notice == Notice(
        id="command-ocid1.instance.oc1..x",
        kind=NoticeKind.MAINTENANCE,
        source="command",
        received=START,
        deadline=notice.deadline,
        action="TERMINATE",
        instance_id="ocid1",
        detail={"zone": "a", "n": "3", "is": "true"},
    )
    assert left_s(notice) == 120


def test_line_is_a_notice_of_the_usual_kind_when_it_says_hardly_anything() -> None:
    """One notice of a kind at a time needs no id, and is taken back without one."""
    notice = read({"action": "stop"}, replace(UNSAID, kind=NoticeKind.SHUTDOWN, window_s=7.0))
    assert (notice.id, notice.kind, left_s(notice)) == ("command-shutdown", "shutdown", 7)
    assert read({"kind": "rebalance"}).deadline is None
    back = read({"withdrawn": True})
    assert (back.id, back.withdrawn) == ("command-preemption", True)


def test_notice_is_bare_when_only_its_being_is_known() -> None:
    """It is the one that a line without any detail would have told."""
    unsaid = replace(UNSAID, window_s=7.0)
    assert bare(START, unsaid) == read({"kind": "preemption"}, unsaid)
    assert bare(START, UNSAID, "what is this").detail == {"malformed": "what is this"}


@pytest.mark.parametrize("kind", KINDS)
def test_line_names_any_kind_when_it_is_a_clouds(kind: NoticeKind) -> None:
    """In the words of the flag file."""
    assert read({"kind": kind.value}).kind is kind


@pytest.mark.parametrize("kind", ["drill", "node_request"])
def test_line_is_refused_when_its_kind_is_not_a_programs_to_tell(kind: str) -> None:
    """A drill is set by a person on the node, a request by a trainer, and neither by this."""
    with pytest.raises(SourceMalformed, match=kind):
        read({"kind": kind, "id": "x"})
    with pytest.raises(SourceMalformed, match=kind):
        read({"kind": kind, "id": "x", "withdrawn": True})


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"window_s": 30}, 30),
        ({"window_s": 0}, 0),
        ({"window_s": 30, "deadline": "2026-11-30T10:05:16Z"}, 10),
        ({"window_s": 5, "deadline": "2026-11-30T10:05:16Z"}, 5),
        ({"deadline": "2026-11-30T09:05:06Z"}, -3600),
        ({"deadline": "2099-01-01T00:00:00Z"}, LONGEST_S),
    ],
)
def test_deadline_is_the_earliest_that_is_told_and_believed(
    fields: dict[str, object], left: float
) -> None:
    """One in the past stays there; one too far is cut, as a clock must be wrong."""
    assert left_s(read(fields)) == pytest.approx(left)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", 7),
        ("id", ""),
        ("kind", "meteor"),
        ("kind", ["preemption"]),
        ("deadline", "soon"),
        ("deadline", 1_796_033_226),
        ("deadline", "2026-11-30T10:07:06"),
        ("window_s", "30"),
        ("window_s", -1),
        ("window_s", 1e99),
        ("window_s", True),
        ("window_s", False),
        ("window_s", float("nan")),
        ("action", {}),
        ("instance_id", 3),
        ("detail", "x"),
    ],
)
def test_line_is_a_notice_all_the_same_when_a_detail_can_not_be_read(
    name: str, value: object
) -> None:
    """The usual counts in its place, and the detail says what was odd."""
    notice = read({"id": "x", "kind": "preemption", name: value}, replace(UNSAID, window_s=9.0))
    assert (notice.kind, left_s(notice)) == ("preemption", 9)
    assert notice.detail["malformed"].startswith(name)
    assert notice.id == ("command-preemption" if name == "id" else "command-x")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "preemption",
        "[]",
        "{}",
        '{"other": 1}',
        "null",
        '{"id": "x"',
        "[" * 9000,
        "\ufffd",
        '{"id": ' + "9" * 5000 + "}",
        '{"id": "x", "withdrawn": "yes"}',
        '{"id": "x", "withdrawn": 1}',
        '{"id": 7, "withdrawn": true}',
        '{"kind": "meteor", "withdrawn": true}',
    ],
)
def test_line_is_refused_when_it_makes_no_sense_as_a_whole(line: str) -> None:
    """What is to be taken back has to be clear, above all."""
    with pytest.raises(SourceMalformed) as caught:
        read(line)
    assert len(str(caught.value)) < 300


def test_words_are_cut_when_they_are_too_long_or_too_many() -> None:
    """The flag file stays small."""
    words: dict[str, object] = {f"{n}{'k' * 999}": "v" * 999 for n in range(99)}
    notice = read({"id": "i" * 999, "action": "a" * 999, "detail": words})
    assert len(notice.id) < 300
    assert len(notice.action or "") == 256
    assert len(notice.detail) == 16
    assert {len(said) for item in notice.detail.items() for said in item} == {256}


def test_line_keeps_the_instant_when_its_offset_is_another() -> None:
    """RFC 3339 in full."""
    notice = read({"deadline": "2026-11-30T12:07:06.5+02:00"})
    assert notice.deadline is not None
    assert rfc3339(notice.deadline.wall) == "2026-11-30T10:07:06.500000Z"
