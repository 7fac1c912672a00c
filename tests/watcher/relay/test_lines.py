"""Lines at the end of a file or on standard output: whole ones, whatever cuts a write short."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

import pytest

from tests.support.exhaustion import file_size_limit
from tests.support.waiting import wait_until
from watcher.errors import ConfigError
from watcher.relay.lines import Lines, ReaderGone

LINE = b'{"schema": 1, "id": "a"}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that is long enough for a limit to concern nothing else of this process."""
    made = tmp_path / "notices.jsonl"
    made.write_bytes(b"-" * 1_000_000 + b"\n")
    return made


def ends(file: Path) -> list[bytes]:
    """Return the file's lines after the first one."""
    return file.read_bytes().split(b"\n")[1:]


def test_line_begins_on_a_line_of_its_own_when_the_one_before_was_cut_off(file: Path) -> None:
    """However often that happens; the cut one is not taken back, somebody may have read it."""
    lines = Lines(file)
    for cut in (5, 7):
        with file_size_limit(file.stat().st_size + cut), pytest.raises(OSError, match="large"):
            lines.append(LINE)
    lines.append(LINE)
    lines.append(LINE)
    # The second one begins with the break that ends the first.
    assert ends(file) == [LINE[:5], LINE[:6], LINE[:-1], LINE[:-1], b""]


def test_nothing_is_torn_when_a_write_is_refused_as_a_whole(file: Path) -> None:
    """No empty line is left by the next one."""
    lines = Lines(file)
    with file_size_limit(file.stat().st_size), pytest.raises(OSError, match="large"):
        lines.append(LINE)
    lines.append(LINE)
    assert ends(file) == [LINE[:-1], b""]


def test_line_begins_on_a_line_of_its_own_when_another_run_has_left_a_torn_one(
    tmp_path: Path,
) -> None:
    """A relay that was killed while its disk was full remembers nothing."""
    file = tmp_path / "notices.jsonl"
    file.write_bytes(LINE[:9])
    lines = Lines(file)
    lines.require_usable()
    lines.append(LINE)
    assert file.read_bytes() == LINE[:9] + b"\n" + LINE


def test_lines_of_several_relays_stay_whole_when_they_share_a_file_that_hits_a_limit(
    file: Path,
) -> None:
    """Every line that counts is there, and nothing else but what was cut off."""
    writers = [Lines(file) for _ in range(4)]
    counted: list[bytes] = []

    def write(name: int) -> None:
        for number in range(50):
            line = f"{name}-{number}-".encode() + b"x" * 40
            try:
                writers[name].append(line + b"\n")
            except OSError:
                continue
            counted.append(line)

    with file_size_limit(file.stat().st_size + 7000):
        threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    writers[0].append(LINE)
    there = [line for line in ends(file) if len(line) >= 44]
    assert 0 < len(counted) < 200
    assert sorted(there) == sorted(counted)
    assert ends(file)[-2:] == [LINE[:-1], b""]


def test_line_waits_for_a_turn_when_another_relay_is_in_the_middle_of_one(tmp_path: Path) -> None:
    """And then sees what that one has left, a torn line in this case."""
    file = tmp_path / "notices.jsonl"
    with file.open("wb", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        thread = threading.Thread(target=Lines(file).append, args=(LINE,))
        thread.start()
        number = f":{file.stat().st_ino} "
        wait_until(
            lambda: any(
                " -> FLOCK " in line and number in line
                for line in Path("/proc/locks").read_text().splitlines()
            )
        )
        other.write(LINE[:9])
    thread.join()
    assert file.read_bytes() == LINE[:9] + b"\n" + LINE


def test_first_line_begins_on_a_line_of_its_own_when_the_end_of_the_file_can_not_be_read(
    tmp_path: Path,
) -> None:
    """Standard output may be a file that only whoever started the relay may read."""
    file = tmp_path / "notices.jsonl"
    file.write_bytes(LINE[:9])
    before, user = os.dup(1), os.geteuid()
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND)
    file.chmod(0o200)
    os.dup2(descriptor, 1)
    lines = Lines(None)
    try:
        if user == 0:  # whom nothing keeps from reading
            os.seteuid(65534)
        lines.append(LINE)
        lines.append(LINE)
    finally:
        if user == 0:
            os.seteuid(user)
        os.dup2(before, 1)
        os.close(before)
        os.close(descriptor)
    file.chmod(0o600)
    assert file.read_bytes() == LINE[:9] + b"\n" + LINE + LINE


@contextmanager
def piped_stdout() -> Iterator[FileIO]:
    """Put a pipe in the place of standard output; gives the end to read from.

    No fixture: pytest takes standard output for itself between those and the test.
    """
    reading, writing = os.pipe()
    before = os.dup(1)
    os.dup2(writing, 1)
    os.close(writing)
    try:
        with FileIO(reading) as reader:
            yield reader
    finally:
        os.dup2(before, 1)
        os.close(before)


def test_whole_line_reaches_standard_output_when_a_pipe_takes_it_piece_by_piece() -> None:
    """Even where the pipe was left to us non-blocking, as some shells and terminals do."""
    line = b"x" * 300_000 + b"\n"
    with piped_stdout() as reader:
        os.set_blocking(1, False)
        thread = threading.Thread(target=Lines(None).append, args=(line,))
        thread.start()
        got = b""
        while len(got) < len(line):
            got += reader.read(65536)
        thread.join()
    assert got == line


def test_reader_is_known_to_be_gone_when_standard_output_is_a_broken_pipe() -> None:
    """Its own error, because trying again is no use."""
    with piped_stdout() as reader:
        reader.close()
        with pytest.raises(ReaderGone, match="nobody reads"):
            Lines(None).append(LINE)


def test_broken_named_pipe_may_find_another_reader_when_it_is_a_file(tmp_path: Path) -> None:
    """It is there to be opened again."""
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    lines = Lines(fifo)
    lines.require_usable()
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    lines.append(LINE)
    assert os.read(reader, 100) == LINE
    os.close(reader)
    thread = threading.Thread(target=lines.append, args=(LINE,))
    thread.start()  # opens the pipe once there is a reader
    reader = os.open(fifo, os.O_RDONLY)
    wait_until(lambda: not thread.is_alive())
    assert os.read(reader, 100) == LINE
    os.close(reader)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is a directory; name a file in it"),
        ("missing/notices.jsonl", "No such file or directory; name a file"),
        ("file/notices.jsonl", "Not a directory; name a file"),
        ("loop", "symbolic links"),
    ],
)
def test_path_is_refused_when_waiting_does_not_make_it_usable(
    tmp_path: Path, name: str, message: str
) -> None:
    """In words that name it and say what to do."""
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ConfigError, match=message) as error:
        Lines(tmp_path / name).require_usable()
    assert str(tmp_path / name) in str(error.value)


def test_path_is_not_refused_when_its_disk_is_full() -> None:
    """There may be room when the first notice comes; until then it stays in the queue."""
    lines = Lines(Path("/dev/full"))
    lines.require_usable()
    with pytest.raises(OSError, match="No space left"):
        lines.append(LINE)
