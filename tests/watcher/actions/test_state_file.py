"""What the next run is told of queues: written, read back, and refused."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clocks import START, eventually
from tests.support.flag_desk import preemption
from watcher.actions import state_file
from watcher.actions.state_file import KEPT_LIMIT, STATE_NAME, StateFile, compose, parse
from watcher.errors import FlagUnreadable
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.policy import stand
from watcher.state import State

BOOT = "boot-a"
REBOOT = Notice(
    id="aws-health-1",
    kind=NoticeKind.MAINTENANCE,
    source="aws_sqs",
    received=START,
    deadline=Deadline.after(START, 14 * 86_400.0),
    action="AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED",
    instance_id="i-1",
    detail={"startTime": "Mon, 14 Dec 2026 10:05:06 GMT", "odd": "\ud800\x00"},
)


class Desk:
    """A state file with its state, in a run directory of the test's own."""

    def __init__(self, run_dir: Path) -> None:
        self.path = run_dir / STATE_NAME
        self.state = State()
        self.file = StateFile(run_dir, BOOT, self.state, ["aws_sqs"])

    async def plan(self, notice: Notice) -> None:
        """Plan the notice and keep it."""
        self.state.plan(stand(notice), START)
        await self.file.keep(notice)

    async def admit(self, notice: Notice) -> None:
        """Put the notice in force and keep it."""
        self.state.admit(stand(notice), START)
        await self.file.keep(notice)

    def kept(self) -> list[str] | None:
        """Return the ids in the file, None when the directory is empty."""
        if not list(self.path.parent.iterdir()):
            return None
        return [one.id for one in parse(self.path.read_bytes(), BOOT)]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty one."""
    return Desk(tmp_path)


def test_notices_are_the_same_when_read_back() -> None:
    """To the last word, and at the same instants."""
    bare = Notice(id="n", kind=NoticeKind.REBALANCE, source="aws_sqs", received=START)
    assert parse(compose([REBOOT, bare], BOOT), BOOT) == (REBOOT, bare)


async def test_file_holds_what_is_in_force_and_planned_when_a_queue_said_it(desk: Desk) -> None:
    """The most urgent first; what the metadata service says again is not in it."""
    await desk.plan(REBOOT)
    assert desk.kept() == ["aws-health-1"]
    by_metadata = preemption(START)
    await desk.admit(by_metadata)
    await desk.admit(replace(by_metadata, id="warning", source="aws_sqs"))
    assert desk.kept() == ["warning", "aws-health-1"]


async def test_nothing_is_written_when_a_source_is_asked_again_anyway(desk: Desk) -> None:
    """The acknowledgement of a metadata key waits for no disk."""
    await desk.admit(preemption(START))
    assert desk.kept() is None


async def test_file_is_removed_when_all_is_taken_back(desk: Desk) -> None:
    """A restarted daemon would stop the node for what is over."""
    await desk.plan(REBOOT)
    desk.state.retire(REBOOT, START)
    await desk.file.keep(REBOOT)
    assert desk.kept() is None


async def test_file_stays_small_when_there_is_no_end_of_notices(desk: Desk) -> None:
    """The first to come in force are kept."""
    for number in range(KEPT_LIMIT + 10):
        deadline = Deadline.after(START, 86_400.0 + number)
        desk.state.plan(stand(replace(REBOOT, id=f"n{number}", deadline=deadline)), START)
    await desk.file.keep(REBOOT)
    assert desk.kept() == [f"n{number}" for number in range(KEPT_LIMIT)]


async def test_keeping_goes_on_when_the_file_can_not_be_written(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it can: the message that said it is not deleted meanwhile. One line says why."""
    monkeypatch.setattr(state_file, "_RETRY_S", 0.001)
    desk.path.mkdir()
    attempts: list[bytes] = []
    write = desk.file._write

    def noted(data: bytes) -> str:
        attempts.append(data)
        return write(data)

    monkeypatch.setattr(desk.file, "_write", noted)
    keeping = asyncio.create_task(desk.plan(REBOOT))
    await eventually(lambda: len(attempts) > 3)
    assert not keeping.done()
    desk.path.rmdir()
    async with asyncio.timeout(20):
        await keeping
    assert desk.kept() == ["aws-health-1"]
    assert len([line for line in caplog.messages if line.startswith("state not kept")]) == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", True),
        ("schema", 2),
        ("schema", None),
        ("boot_id", "boot-b"),
        ("boot_id", None),
        ("notices", None),
        ("notices", {"a": 1}),
        ("notices", [7]),
    ],
)
def test_file_is_refused_when_it_is_not_one(path: str, value: object) -> None:
    """Of another boot, of another schema, or damaged."""
    document = json.loads(compose([REBOOT], BOOT))
    document[path] = value
    with pytest.raises(FlagUnreadable):
        parse(json.dumps(document).encode(), BOOT)


def test_other_notices_are_read_when_one_is_of_a_kind_that_only_a_later_version_knows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After a step back to this version, a plan of weeks must not go with what it does not know."""
    document = json.loads(compose([REBOOT], BOOT))
    later = {**document["notices"][0], "id": "later", "kind": "eclipse"}
    document["notices"].insert(0, later)
    assert parse(json.dumps(document).encode(), BOOT) == (REBOOT,)
    assert "notice dropped" in caplog.text
    assert "eclipse" in caplog.text


FIELDS = sorted(json.loads(compose([REBOOT], BOOT))["notices"][0])


@given(
    st.sampled_from(FIELDS),
    st.none() | st.booleans() | st.floats() | st.text(max_size=9) | st.just([1]) | st.just({}),
)
def test_file_is_read_or_refused_when_a_field_is_odd(field: str, value: object) -> None:
    """Nothing else is raised, whatever lies there."""
    document = json.loads(compose([REBOOT], BOOT))
    document["notices"][0][field] = value
    try:
        [notice] = parse(json.dumps(document).encode(), BOOT)
    except FlagUnreadable:
        return
    assert stand(notice).notice == notice
