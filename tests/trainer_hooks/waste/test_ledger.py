"""Writing a ledger, and being killed over it."""

import errno
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ledgers import begin
from tests.support.waiting import wait_until
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.ledger import FOLDER, WRITE_EVERY_S, Ledger
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.records import Committed, End, Outcome, Part, Saved, Spent, Steps


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        """Return what it shows."""
        return self.now_s


def only(root: Path) -> Attempt:
    """Return the only attempt."""
    (attempt,) = read_ledger(root)
    return attempt


def test_record_is_read_when_an_attempt_has_written_it(tmp_path: Path) -> None:
    """The first step by itself, the others up to each save."""
    ledger = Ledger(tmp_path, begin(3, 1000.0))
    ledger.note_part(Part.LOAD, 1001.0, 1002.0)
    for step in range(4):
        ledger.note_step(step, 1010.0 + step, 1011.0 + step, straggler_s=0.25)
    ledger.note_save(4, 1014.0, 1014.5)
    ledger.note_commit(4, 1016.0)
    ledger.note_notice(Heard(at=1017.0, id="n-1"))
    ledger.note_step(4, 1014.5, 1015.5)
    ledger.close(Outcome.PREEMPTED, 5)
    attempt = only(tmp_path)
    assert attempt.begin == begin(3, 1000.0)
    assert attempt.parts == [Spent(part=Part.LOAD, began=1001.0, ended=1002.0)]
    assert attempt.steps == [
        Steps(first=0, end=1, began=1010.0, ended=1011.0, straggler_s=0.25),
        Steps(first=1, end=4, began=1011.0, ended=1014.0, straggler_s=0.75),
        Steps(first=4, end=5, began=1014.5, ended=1015.5),
    ]
    assert attempt.saves == [Saved(step=4, began=1014.0, ended=1014.5)]
    assert attempt.commits == [Committed(step=4, at=1016.0)]
    assert [notice.id for notice in attempt.notices] == ["n-1"]
    assert attempt.end == End(at=attempt.last_at, outcome=Outcome.PREEMPTED, step=5)
    assert attempt.torn_lines == 0


def test_steps_are_written_when_they_have_gone_on_for_long(tmp_path: Path) -> None:
    """So that a kill takes no more than that from the record."""
    clock = Clock()
    ledger = Ledger(tmp_path, begin(1, 1000.0), now_s=clock)
    for step in range(6):
        ledger.note_step(step, ledger.now(), ledger.now())
        clock.now_s += WRITE_EVERY_S / 2
    ledger.close(Outcome.FINISHED, 6)
    assert [(steps.first, steps.end) for steps in only(tmp_path).steps] == [
        (0, 1),
        (1, 3),
        (3, 5),
        (5, 6),
    ]


def test_instants_run_on_evenly_when_the_clock_is_set(tmp_path: Path) -> None:
    """Unix time is asked once."""
    clock = Clock()
    ledger = Ledger(tmp_path, begin(1, 1000.0), now_s=clock)
    first = ledger.now()
    clock.now_s += 7
    assert ledger.now() == pytest.approx(first + 7)
    ledger.close(Outcome.FINISHED, 0)


@pytest.mark.ranks
def test_record_lacks_at_most_the_last_line_when_the_process_is_killed(tmp_path: Path) -> None:
    """kill -9 of a process that has said what was written."""
    program = f"""
import sys, time
from pathlib import Path
from tests.support.ledgers import begin
from tests.support.waiting import wait_until
from trainer_hooks.waste.ledger import FOLDER, Ledger
ledger = Ledger(Path({str(tmp_path)!r}), begin(1, 1000.0))
for step in range(500):
    ledger.note_save(step, 1000.0 + step, 1000.5 + step)
file = Path({str(tmp_path)!r}) / FOLDER / "a1-5f3c.jsonl"
while not file.exists() or file.read_bytes().count(b"\\n") < 100:
    time.sleep(0.01)
print("written", flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.kill()
    attempt = only(tmp_path)
    assert len(attempt.saves) >= 99
    assert [save.step for save in attempt.saves] == list(range(len(attempt.saves)))
    assert attempt.end is None


def test_record_is_read_up_to_there_when_it_is_torn_anywhere(tmp_path: Path) -> None:
    """Cut at each of its bytes."""
    ledger = Ledger(tmp_path, begin(1, 1000.0))
    for step in range(1, 4):
        ledger.note_save(step, 1000.0 + step, 1000.5 + step)
    ledger.close(Outcome.FINISHED, 3)
    path = tmp_path / FOLDER / "a1-5f3c.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n")
    for cut in range(first, len(whole)):
        path.write_bytes(whole[:cut])
        attempt = only(tmp_path)
        lines = whole[: cut + 1].count(b"\n")  # one without its end is whole all the same
        assert len(attempt.saves) == min(3, lines - 1)
        assert attempt.torn_lines <= 1


def test_training_goes_on_when_the_record_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning, and without the record."""
    (tmp_path / FOLDER).write_text("a file where the folder should be")
    ledger = Ledger(tmp_path, begin(1, 1000.0))
    for step in range(50):
        ledger.note_step(step, 1000.0 + step, 1001.0 + step)
    ledger.close(Outcome.FINISHED, 50)
    assert "can't be written" in caplog.text


def test_nothing_is_lost_when_the_disk_was_full_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A line that was broken off counts as torn; all come, each once, when there is room again."""
    caplog.set_level(logging.INFO)
    write, room = os.write, [400]
    path = tmp_path / FOLDER / "a1-5f3c.jsonl"

    def limited(descriptor: int, data: bytes) -> int:
        if Path(f"/proc/self/fd/{descriptor}").resolve() != path:
            return write(descriptor, data)
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(descriptor, data[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(os, "write", limited)
    ledger = Ledger(tmp_path, begin(1, 1000.0))
    for step in range(1, 21):
        ledger.note_save(step, 1000.0 + step, 1000.5 + step)
    wait_until(lambda: "can't be written" in caplog.text)
    assert path.stat().st_size == 400
    room[0] = 1_000_000
    ledger.close(Outcome.FINISHED, 20)
    attempt = only(tmp_path)
    assert [save.step for save in attempt.saves] == list(range(1, 21))
    assert attempt.end is not None
    assert attempt.torn_lines == 1
    assert caplog.text.count("can't be written") == 1
    assert "is written again" in caplog.text


def test_record_is_not_written_through_a_link_when_somebody_has_put_one_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It would be somebody else's file."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "a1-5f3c.jsonl").symlink_to(victim)
    ledger = Ledger(tmp_path, begin(1, 1000.0))
    ledger.close(Outcome.FINISHED, 0)
    assert victim.read_text() == "mine"
    assert "can't be written" in caplog.text


def test_process_has_nothing_left_when_a_ledger_is_closed(tmp_path: Path) -> None:
    """No descriptor."""
    before = {*Path("/proc/self/fd").iterdir()}
    ledger = Ledger(tmp_path, begin(1, 1000.0))
    ledger.close(Outcome.FINISHED, 0)
    assert {*Path("/proc/self/fd").iterdir()} <= before
