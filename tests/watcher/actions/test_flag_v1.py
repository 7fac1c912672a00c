"""The flag file's schema: the bytes, pinned, and what is read back from them."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watcher.actions.flag_v1 import ALSO_LIMIT, Writer, answer, compose, parse
from watcher.actions.reserved_draft import RESERVED_BYTES
from watcher.errors import FlagUnreadable
from watcher.notice import Deadline, Moment, Notice, NoticeKind, Standing
from watcher.policy import stand

GOLDEN = Path(__file__).parents[2] / "contract" / "notice_v1.json"
BOOT_ID = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"
WRITER = Writer("gpu-node-7", BOOT_ID)
RECEIVED = Moment(datetime(2026, 11, 30, 10, 5, 6, 250_000, tzinfo=UTC), 5001.25)
WRITTEN = Moment(datetime(2026, 11, 30, 10, 5, 6, 252_000, tzinfo=UTC), 5001.252)
STOP = Notice(
    id="aws-spot-terminate-2026-11-30T10:07:06Z-i-0123456789abcdef0",
    kind=NoticeKind.PREEMPTION,
    source="aws_imds",
    received=RECEIVED,
    deadline=Deadline.stated(
        datetime(2026, 11, 30, 10, 7, 6, tzinfo=UTC), seen=RECEIVED, longest_s=120
    ),
    action="terminate",
    instance_id="i-0123456789abcdef0",
    detail={"time": "2026-11-30T10:07:06Z"},
)
ADVICE = Notice(
    id="aws-rebalance-2026-11-30T09:58:14Z-i-0123456789abcdef0",
    kind=NoticeKind.REBALANCE,
    source="aws_imds",
    received=RECEIVED,
)


def flag(*notices: Notice) -> bytes:
    """Compose the flag for these, the most urgent first."""
    standings: list[Standing] = sorted(map(stand, notices), key=lambda one: one.rank)
    return compose(standings, WRITER, WRITTEN, 5_001_252)


def test_flag_is_the_golden_file_when_written_for_a_stop_beside_an_advice() -> None:
    """The trainers' tests read the same file, so this is the contract between the two packages."""
    assert flag(ADVICE, STOP) == GOLDEN.read_bytes()


@pytest.mark.parametrize(
    ("name", "notices"), [("notice_answer_v1", (STOP, ADVICE)), ("no_notice_answer_v1", ())]
)
def test_answer_is_the_golden_one_when_it_is_said_over_http(
    name: str, notices: tuple[Notice, ...]
) -> None:
    """The flag is in it as the file has it; where there is none, that is said by a word."""
    said = answer(flag(*notices) if notices else None, WRITER, 5_001_252)
    assert said == GOLDEN.with_name(f"{name}.json").read_bytes()
    assert json.loads(said)["notice"] == (json.loads(GOLDEN.read_text()) if notices else None)


def test_flag_has_no_deadline_when_the_notice_has_none() -> None:
    """Advice is written with the same fields, null where there is nothing to say."""
    written = json.loads(flag(ADVICE))
    assert list(written) == list(json.loads(GOLDEN.read_text()))
    assert written["urgency"] == "advisory"
    assert written["deadline"] is written["deadline_boottime_s"] is written["action"] is None
    assert written["also"] == []


def test_flag_names_the_most_urgent_others_when_there_is_no_end_of_them() -> None:
    """A trainer takes a flag of more than 64 KiB for a stop without a deadline."""
    others = [
        replace(STOP, id=f"{number}-" + "x" * 600, deadline=Deadline.after(RECEIVED, 200 + number))
        for number in range(500)
    ]
    written = flag(STOP, *others)
    assert len(written) < RESERVED_BYTES[0]
    assert json.loads(written)["also"] == [other.id for other in others[:ALSO_LIMIT]]


def test_flag_says_drill_when_it_is_one() -> None:
    """Trainers and alerts can tell an exercise from the real thing."""
    drill = Notice(id="drill-1", kind=NoticeKind.DRILL, source="drill", received=RECEIVED)
    assert json.loads(flag(drill))["drill"] is True
    assert json.loads(flag(STOP, drill))["drill"] is False


@pytest.mark.parametrize("notice", [STOP, ADVICE], ids=["stop", "advice"])
def test_flag_gives_back_its_notice_when_read_in_the_same_boot(notice: Notice) -> None:
    """A restarted daemon knows the id, the deadline and the receipt of the first run."""
    again = parse(flag(notice), BOOT_ID)
    assert again.received.boottime_s == pytest.approx(notice.received.boottime_s)
    assert {name: getattr(again, name) for name in ("id", "kind", "source", "deadline")} == {
        name: getattr(notice, name) for name in ("id", "kind", "source", "deadline")
    }
    assert (again.action, again.instance_id, dict(again.detail)) == (
        notice.action,
        notice.instance_id,
        dict(notice.detail),
    )


def test_flag_survives_when_a_clouds_words_are_no_unicode() -> None:
    """A lone surrogate in an answer must not keep the flag from being written."""
    odd = Notice(
        id="x", kind=NoticeKind.PREEMPTION, source="s", received=RECEIVED, action="\ud800\x00"
    )
    assert parse(flag(odd), BOOT_ID).action == "\ud800\x00"


def test_flag_is_void_when_it_is_from_another_boot() -> None:
    """The node has been stopped and started since: what was said then is over."""
    with pytest.raises(FlagUnreadable, match="void"):
        parse(flag(STOP), "00000000-0000-0000-0000-000000000000")


FIELDS = sorted(json.loads(GOLDEN.read_text()))
READ = sorted(set(FIELDS) - {"seq", "urgency", "node", "drill", "also"})


@pytest.mark.parametrize("field", READ)
@pytest.mark.parametrize("how", ["missing", "list"])
def test_flag_is_unreadable_when_a_field_is_damaged(field: str, how: str) -> None:
    """No damage of a field that is needed raises anything else."""
    data = json.loads(GOLDEN.read_text())
    if how == "missing":
        del data[field]
    else:
        data[field] = ["x"]
    if how == "list" and field in ("id", "source", "action", "instance_id"):
        # Any text will do for these.
        assert parse(json.dumps(data).encode(), BOOT_ID).kind is NoticeKind.PREEMPTION
        return
    with pytest.raises(FlagUnreadable):
        parse(json.dumps(data).encode(), BOOT_ID)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("deadline_boottime_s", "1" + "0" * 400),
        ("deadline_boottime_s", "NaN"),
        ("deadline_boottime_s", "Infinity"),
        ("written_boottime_s", "-Infinity"),
        ("written_boottime_s", "1e300"),
        ("deadline", '"0001-01-01T00:00:00+05:00"'),
        ("deadline", '"0001-01-01T00:00:00Z"'),
        ("received_at", '"9999-12-31T23:59:59Z"'),
        ("written_at", '"1969-12-31T23:59:59Z"'),
        ("kind", '"meteorite"'),
        ("schema", "true"),
        ("schema", "1.0"),
        ("schema", "2"),
        ("deadline_boottime_s", "true"),
        ("written_boottime_s", "true"),
        ("written_boottime_s", '"5002"'),
    ],
)
def test_flag_is_unreadable_when_a_value_can_not_be(field: str, value: str) -> None:
    """What overflows here or in later arithmetic is damage, and never ends the daemon."""
    written = json.loads(GOLDEN.read_text())
    data = GOLDEN.read_text().replace(json.dumps(written[field]), value, 1)
    assert data != GOLDEN.read_text()
    with pytest.raises(FlagUnreadable):
        parse(data.encode(), BOOT_ID)


@given(st.binary(max_size=300) | st.integers(0, 700).map(lambda n: GOLDEN.read_bytes()[:n]))
def test_flag_is_unreadable_when_it_is_cut_or_foreign(data: bytes) -> None:
    """Whatever lies in the file's place is refused, not believed and not a crash."""
    if data == GOLDEN.read_bytes():
        return
    try:
        parse(data, BOOT_ID)
    except FlagUnreadable:
        return
    assert data.strip() == GOLDEN.read_bytes().strip()
