"""The relay's annotation: written and read as the golden file has it, and doubted otherwise."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clocks import START
from tests.support.kube_nodes import BOOT_ID, documented
from tests.support.told_by_relay import told
from watcher.errors import SourceMalformed
from watcher.kube.objects import node_of
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.kubernetes_windows import LONGEST_S
from watcher.sources.reading import ForInstance
from watcher.sources.relayed_notice import LIMIT_CHARS, NOTICES_LIMIT, added, parse

GOLDEN = Path(__file__).parents[2] / "contract" / "relayed_notice_v1.json"
NODE = node_of(documented("coreweave") | {"spec": {"providerID": "aws:///eu-west-1a/i-0123"}})
Change = Callable[[dict[str, Any]], object]


def written(*several: ForInstance, text: str | None = None) -> str:
    """Return the annotation with these notices in it."""
    for one in several:
        text = added(text, one, NODE, START.wall) or text
    assert text is not None
    return text


def golden() -> str:
    """Return the annotation that both sides agree on."""
    return json.dumps(json.loads(GOLDEN.read_text()), separators=(",", ":"))


def ids(text: str) -> list[str]:
    """Return which notices are read."""
    return [one.told.notice.id for one in parse(text, NODE, START).notices]


def test_annotation_is_the_golden_file_when_it_is_written() -> None:
    """Two notices, the second with everything that may be there."""
    state = replace(
        told("", id="aws-state-b", kind=NoticeKind.TERMINATION, deadline=None, detail={}),
        over_if_booted_after=datetime(2026, 11, 30, 10, 5, tzinfo=UTC),
    )
    assert json.loads(written(told(), state)) == json.loads(GOLDEN.read_text())


def test_notice_arrives_whole_when_the_golden_file_is_read() -> None:
    """Deadline, words, and where they are from; the id is not that of a queue of the node's own."""
    state, spot = parse(golden(), NODE, START).notices
    assert spot.told.notice == Notice(
        id="relayed-aws-spot-a",
        kind=NoticeKind.PREEMPTION,
        source="kubernetes_node",
        received=START,
        deadline=Deadline.after(START, 120),
        action="terminate",
        instance_id="i-0123",
        detail={
            "time": "2026-11-30T10:07:06Z",
            "relayed_from": "aws_sqs",
            "relayed_at": "2026-11-30T10:05:06Z",
        },
    )
    assert (spot.boot_id, spot.said) == (BOOT_ID, START.wall)
    assert state.told.over_if_booted_after == datetime(2026, 11, 30, 10, 5, tzinfo=UTC)
    assert state.told.notice.deadline is None


def test_annotation_stays_when_the_notice_is_in_it() -> None:
    """A queue says things twice, and two relays hear them."""
    assert added(golden(), told(), NODE, START.wall) is None


def test_notices_stay_beside_a_new_one_until_they_are_long_over() -> None:
    """Only then would their loss change nothing."""
    later = START.wall + timedelta(seconds=120 + 300)
    both = added(written(told()), told("b"), NODE, later)
    assert ids(both or "") == ["relayed-aws-spot-b", "relayed-aws-spot-a"]
    one = added(written(told()), told("b"), NODE, later + timedelta(seconds=1))
    assert ids(one or "") == ["relayed-aws-spot-b"]


def test_newest_notices_are_kept_when_there_are_too_many() -> None:
    """The one that is told now is always among them."""
    many = [
        told(f"{n:02}", received=replace(START, wall=START.wall + timedelta(seconds=n)))
        for n in range(NOTICES_LIMIT + 4)
    ]
    expected = [f"relayed-aws-spot-{n:02}" for n in range(4, NOTICES_LIMIT + 4)]
    assert sorted(ids(written(*many))) == expected
    assert ids(written(*reversed(many)))[0] == "relayed-aws-spot-00"


def test_oldest_notices_are_left_out_when_the_annotation_would_be_too_long() -> None:
    """A reader refuses what is longer as a whole; the words of one notice always fit."""
    face = "\N{GRINNING FACE}"  # twelve characters of JSON
    wordy = {f"{n}{face * 255}": face * 256 for n in range(8)}
    many = [
        told(str(n), detail=wordy, received=replace(START, wall=START.wall + timedelta(seconds=n)))
        for n in range(3)
    ]
    text = written(*many)
    assert len(text) <= LIMIT_CHARS
    assert ids(text) == ["relayed-aws-spot-2"]


@pytest.mark.parametrize("left", ["", "garbage", "[]", '{"schema": 1, "notices": 3}'])
def test_annotation_is_begun_anew_when_it_is_of_no_use(left: str) -> None:
    """Also where it was to another machine of that name."""
    assert ids(written(told(), text=left)) == ["relayed-aws-spot-a"]
    other = added(None, told("b"), replace(NODE, provider_id="aws:///z/i-9"), START.wall)
    assert ids(written(told(), text=other)) == ["relayed-aws-spot-a"]


def test_annotation_of_a_newer_relay_is_left_alone() -> None:
    """It knows more than this one, and will get the notice when this one gives up."""
    with pytest.raises(SourceMalformed, match="newer"):
        added('{"schema": 2}', told(), NODE, START.wall)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("null", "no object"),
        ("[" * 100_000, "longer than"),
        ("[" * 60_000, "no JSON"),
        ("x" * (LIMIT_CHARS + 1), "longer than"),
        (golden().replace('"schema":1', '"schema":2'), "schema 2"),
        (golden().replace("i-0123", "i-0124", 1), "i-0124"),
        ('{"schema":1,"provider_id":"aws:///eu-west-1a/i-0123"}', "notices"),
    ],
)
def test_annotation_is_refused_when_nothing_of_it_can_be_read(text: str, why: str) -> None:
    """It is unknown what the relay says, and not nothing."""
    with pytest.raises(SourceMalformed, match=why):
        parse(text, NODE, START)


def _dropped(name: str) -> Change:
    return lambda entry: entry.pop(name)


def _set(**fields: object) -> Change:
    return lambda entry: entry.update(fields)


@pytest.mark.parametrize(
    "change",
    [
        _dropped("id"),
        _set(id=""),
        _set(id=7),
        _dropped("kind"),
        _set(kind="drill"),
        _set(kind="node_request"),
        _set(kind="shutdown"),
        _set(kind=["preemption"]),
    ],
)
def test_other_notices_are_heard_when_one_can_not_be_told_apart(change: Change) -> None:
    """And it is said that there may be more; a drill or a trainer's request is not the relay's."""
    document = json.loads(golden())
    change(document["notices"][1])
    word = parse(json.dumps(document), NODE, START)
    assert [one.told.notice.id for one in word.notices] == ["relayed-aws-state-b"]
    assert "at 1" in word.odd


@pytest.mark.parametrize(
    "change",
    [
        _set(deadline="soon"),
        _set(deadline=1796033226),
        _set(received_at="2026-13-01T00:00:00Z"),
        _set(detail={"malformed": "time"}),
    ],
)
def test_notice_stands_when_a_detail_of_it_can_not_be_read(change: Change) -> None:
    """It says so in ``malformed``."""
    document = json.loads(golden())
    change(document["notices"][1])
    notice = parse(json.dumps(document), NODE, START).notices[1].told.notice
    assert notice.kind is NoticeKind.PREEMPTION
    assert notice.detail["malformed"]


@pytest.mark.parametrize("kind", LONGEST_S)
def test_deadline_is_never_believed_beyond_the_longest_of_its_kind(kind: NoticeKind) -> None:
    """A year ahead would lose the work of every kind."""
    far = Deadline.after(START, 366 * 86_400.0)
    (one,) = parse(written(told(kind=kind, deadline=far)), NODE, START).notices
    assert one.told.notice.deadline == Deadline.after(START, LONGEST_S[kind])


def test_notice_is_void_when_it_was_said_before_this_boot() -> None:
    """The kubelet may be late with a boot's id, so a later word counts all the same."""
    (one,) = parse(written(told()), NODE, START).notices
    booted_after = replace(START, wall=START.wall + timedelta(seconds=60), boottime_s=59.0)
    booted_before = replace(booted_after, boottime_s=61.0)
    assert one.is_of_earlier_boot("the next", booted_after)
    assert not one.is_of_earlier_boot("the next", booted_before)
    assert not one.is_of_earlier_boot(BOOT_ID, booted_after)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
FIELDS = sorted(json.loads(GOLDEN.read_text())["notices"][0])


@given(changes=st.dictionaries(st.sampled_from(FIELDS), JSON), place=st.sampled_from([0, 1]))
def test_annotation_is_read_or_refused_whatever_is_in_it(
    changes: dict[str, object], place: int
) -> None:
    """Nothing else is raised, what is read is bounded, and one in it does not hide the other."""
    document = json.loads(GOLDEN.read_text())
    other = document["notices"][1 - place]["id"]
    document["notices"][place].update(changes)
    word = parse(json.dumps(document), NODE, START)
    assert f"relayed-{other}" in [one.told.notice.id for one in word.notices]
    for one in word.notices:
        assert len(repr(one)) < 12_000
    assert added(json.dumps(document), told("new"), NODE, START.wall)
