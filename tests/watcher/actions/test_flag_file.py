"""The flag file on a real file system: written whole, kept equal to the state, and cleaned up."""

import asyncio
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.exhaustion import all_descriptors_used, file_size_limit
from tests.support.flag_desk import Desk, advice, preemption
from tests.support.running import running
from watcher.actions import flag_file
from watcher.actions.flag_file import DRAFT_NAME, FLAG_NAME, FlagFile
from watcher.actions.flag_start import prepare_run_dir
from watcher.errors import ActionRetryable
from watcher.metrics import Metrics
from watcher.notice import Moment, rfc3339
from watcher.policy import stand

MEMORY = Path("/dev/shm")  # noqa: S108 - a tmpfs, as /run is


@pytest.fixture(params=["disk", "memory"])
def desk(
    request: pytest.FixtureRequest, tmp_path: Path, clock: TurnedClock, metrics: Metrics
) -> Iterator[Desk]:
    """A run directory with nothing in it: one that could hang, and one that can't."""
    if request.param == "disk":
        yield Desk(tmp_path, clock, metrics)
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        run_dir = Path(directory, "run")
        run_dir.mkdir()
        yield Desk(run_dir, clock, metrics)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What every look at the flag has come to; it is looked at all the time."""
    monkeypatch.setattr(flag_file, "LOOK_S", 0)
    found, look = list[str](), FlagFile._amiss

    async def recorded(action: FlagFile) -> str:
        found.append(await look(action))
        return found[-1]

    monkeypatch.setattr(FlagFile, "_amiss", recorded)
    return found


async def one_more(looks: list[str]) -> None:
    """Wait until a look has begun and ended."""
    before = len(looks)
    await eventually(lambda: len(looks) >= before + 2)


async def test_flag_is_there_for_everybody_when_written(desk: Desk) -> None:
    """Mode 0644 whatever the umask, one link, and beside it only the next draft."""
    before = os.umask(0o077)
    try:
        await desk.admit(preemption(desk.clock()))
    finally:
        os.umask(before)
    status = desk.path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o644
    assert status.st_nlink == 1
    assert {entry.name for entry in desk.path.parent.iterdir()} == {FLAG_NAME, DRAFT_NAME}
    assert desk.metrics.flag_written._value.get() == desk.clock().wall.timestamp()


async def test_flag_is_replaced_in_one_step_when_rewritten(desk: Desk) -> None:
    """A reader holding the old file keeps reading the old one: it was renamed over, not edited."""
    await desk.admit(advice(desk.clock()))
    with desk.path.open() as held:
        await desk.admit(preemption(desk.clock()))
        assert json.load(held)["id"] == "advice"
    assert desk.flag()["id"] == "spot"


async def test_flag_shows_the_most_urgent_when_two_notices_are_in_force(desk: Desk) -> None:
    """Stop before advice, then the earliest deadline; the others are named."""
    await desk.admit(advice(desk.clock()))
    assert (desk.flag()["urgency"], desk.flag()["also"]) == ("advisory", [])
    await desk.admit(preemption(desk.clock(), "late", 90))
    await desk.admit(preemption(desk.clock(), "early", 30))
    assert (desk.flag()["id"], desk.flag()["also"]) == ("early", ["late", "advice"])


async def test_flag_shows_the_next_and_then_goes_when_notices_are_withdrawn(desk: Desk) -> None:
    """The file is there exactly as long as something is in force."""
    spot, rebalance = preemption(desk.clock()), advice(desk.clock())
    await desk.admit(spot)
    await desk.admit(rebalance)
    await desk.retire(spot)
    assert desk.flag()["id"] == "advice"
    await desk.retire(rebalance)
    assert not desk.path.exists()
    assert desk.metrics.flag_written._value.get() == 0
    await desk.retire(rebalance)


async def test_flag_seq_grows_when_written_again_also_by_a_later_run(desk: Desk) -> None:
    """A reader that saw one seq can tell any later write, even after a restart of the daemon."""
    seqs = []
    for _ in range(2):
        await desk.admit(preemption(desk.clock()))
        await desk.action.run(stand(preemption(desk.clock())))
        seqs.append(desk.flag()["seq"])
        desk.clock.turn(0.5)
        desk = await asyncio.to_thread(Desk, desk.path.parent, desk.clock, desk.metrics)
    assert seqs == [5_000_002, 5_000_502]


async def test_flag_does_not_come_back_when_a_late_retry_follows_a_withdrawal(desk: Desk) -> None:
    """A retry shows what is in force by then, not what was when it began."""
    spot = preemption(desk.clock())
    await desk.admit(spot)
    await desk.retire(spot)
    await desk.action.run(stand(spot))
    assert not desk.path.exists()


async def test_flag_can_be_retried_when_the_run_directory_is_away_for_a_while(
    desk: Desk,
) -> None:
    """The error names the path and says what to do; the next attempt works."""
    run_dir = desk.path.parent
    run_dir.rename(run_dir.with_name("away"))
    with pytest.raises(ActionRetryable, match=r"No such file or directory.*--run-dir") as caught:
        await desk.admit(preemption(desk.clock()))
    assert str(run_dir) in str(caught.value)
    run_dir.with_name("away").rename(run_dir)
    await desk.action.run(stand(preemption(desk.clock())))
    assert desk.flag()["id"] == "spot"


async def test_flag_can_be_retried_when_only_a_part_of_it_could_be_written(desk: Desk) -> None:
    """The system names no path with that error; the message says where all the same."""
    with file_size_limit(100), pytest.raises(ActionRetryable, match=r": the run directory: File"):
        await desk.admit(preemption(desk.clock()))
    assert not desk.path.exists()
    await desk.action.run(stand(preemption(desk.clock())))
    assert desk.flag()["id"] == "spot"


async def test_flag_is_written_when_all_descriptors_are_used_up(desk: Desk) -> None:
    """Whoever holds them, the first write and the next find one each."""
    with all_descriptors_used():
        await desk.admit(advice(desk.clock()))
        await desk.admit(preemption(desk.clock()))
    assert desk.flag()["id"] == "spot"


async def test_flag_can_be_retried_when_something_is_in_its_place(desk: Desk) -> None:
    """Neither writing nor removing can deal with a directory, and both say so."""
    spot = preemption(desk.clock())
    (desk.path / "x").mkdir(parents=True)
    with pytest.raises(ActionRetryable, match="can't write"):
        await desk.admit(spot)
    with pytest.raises(ActionRetryable, match="can't remove"):
        await desk.retire(spot)


@pytest.mark.parametrize("left", ["file", "fifo", "link"])
async def test_draft_is_made_anew_when_something_was_left_in_its_place(
    desk: Desk, left: str
) -> None:
    """At start and at each write: a fifo does not hang, a link is not followed."""
    draft, target = desk.path.with_name(DRAFT_NAME), desk.path.with_name("target")
    target.write_text("as it was")

    def leave() -> None:
        draft.unlink(missing_ok=True)
        match left:
            case "file":
                draft.touch(mode=0o000)
            case "fifo":
                os.mkfifo(draft)
            case _:
                draft.symlink_to(target)

    leave()
    await asyncio.to_thread(prepare_run_dir, draft.parent)
    assert not draft.is_symlink()
    assert not draft.exists()
    leave()
    await desk.admit(preemption(desk.clock()))
    assert desk.flag()["id"] == "spot"
    assert target.read_text() == "as it was"


async def test_flag_is_put_back_when_somebody_has_removed_it(desk: Desk, looks: list[str]) -> None:
    """Also in a run directory that was made anew; a flag that was withdrawn stays away."""
    spot = preemption(desk.clock())
    async with running(desk.action.keep()):
        await desk.admit(spot)
        desk.path.unlink()
        await eventually(desk.path.exists)
        desk.path.parent.rename(desk.path.parent.with_name("made-anew"))
        desk.path.parent.mkdir()
        await eventually(desk.path.exists)
        assert desk.flag()["id"] == "spot"
        await desk.retire(spot)
        await one_more(looks)
        assert not desk.path.exists()


async def test_flag_is_put_back_late_when_there_is_no_run_directory_for_a_while(
    desk: Desk, looks: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, and tried until it works."""
    run_dir = desk.path.parent
    async with running(desk.action.keep()):
        await desk.admit(preemption(desk.clock()))
        run_dir.rename(run_dir.with_name("lost"))
        await eventually(lambda: "can't write" in caplog.text)
        await one_more(looks)
        run_dir.mkdir()
        await eventually(desk.path.exists)
    assert caplog.text.count("can't write") == 1


@pytest.mark.parametrize("set_by_s", [600, -600])
async def test_flag_is_stamped_anew_when_the_wall_clock_is_set(
    desk: Desk, looks: list[str], set_by_s: float
) -> None:
    """Readers can hold the stamps against their clocks again, so that boottime counts."""
    async with running(desk.action.keep()):
        await desk.admit(preemption(desk.clock()))
        before = desk.flag()
        seen = desk.clock()
        desk.clock.moment = Moment(seen.wall + timedelta(seconds=set_by_s), seen.boottime_s + 2)
        await eventually(lambda: desk.flag()["seq"] > before["seq"])
        after = desk.flag()
        assert after["written_at"] == rfc3339(desk.clock().wall)
        assert after["written_boottime_s"] == seen.boottime_s + 2
        assert after["deadline_boottime_s"] == before["deadline_boottime_s"]
        await one_more(looks)
        assert desk.flag() == after
