"""Log lines: their two forms, and that nobody waits for them."""

import asyncio
import fcntl
import json
import logging
import os
import subprocess
import sys

import pytest

from tests.support.clocks import START, eventually
from watcher import logs
from watcher.notice import Deadline, Notice, NoticeKind

NOTICE = Notice(
    id="spot",
    kind=NoticeKind.PREEMPTION,
    source="aws_imds",
    received=START,
    deadline=Deadline.after(START, 120),
)


def record(message: str, *args: object) -> logging.LogRecord:
    """Build a log record."""
    return logging.LogRecord("watcher.responder", logging.INFO, "f.py", 1, message, args, None)


@pytest.fixture
def handler() -> logs._BackgroundHandler:
    """A handler whose writer has ended, so that its lines stay where they are."""
    handler = logs._BackgroundHandler()
    handler.close()
    handler._thread.join(10)
    return handler


def test_json_line_carries_the_notices_keys_when_one_is_logged() -> None:
    """A log pipeline can group by notice without taking a message apart."""
    fields = json.loads(logs._JsonFormatter().format(record("notice admitted %s", NOTICE)))
    assert fields["message"] == f"notice admitted {NOTICE}"
    assert fields["notice_id"] == "spot"
    assert fields["source"] == "aws_imds"
    assert fields["kind"] == "preemption"
    assert fields["deadline"] == "2026-11-30T10:07:06Z"
    assert fields["level"] == "info"
    assert fields["time"].endswith("Z")


def test_json_line_stays_one_line_when_texts_have_several() -> None:
    """Whatever a cloud has sent."""
    line = logs._JsonFormatter().format(record("why=%s", 'two\nlines "and" \ud800'))
    assert "\n" not in line
    assert json.loads(line)["message"].startswith("why=two\nlines")


def test_line_is_replaced_when_it_can_not_be_formatted(handler: logs._BackgroundHandler) -> None:
    """A mistake in a log call never reaches the code that made it."""
    handler.emit(record("%d", "no number"))
    assert handler._lines.get() == "a log line could not be formatted: '%d'"


def test_text_line_begins_with_time_and_level_when_formatted() -> None:
    """UTC with Z, as in the flag file."""
    first, second, *_ = logs._TextFormatter().format(record("hello")).split()
    assert first.endswith("Z")
    assert second == "INFO"


def test_text_line_stays_one_line_when_its_words_are_hostile() -> None:
    """Neither a second line nor a command to a terminal, and nothing that can't be written."""
    said = "a\nINFO b\r\x1b[2J\x7f\x9b\u2028\u202e\ud800 é 漢"
    line = logs._TextFormatter().format(record("why=%s", said))
    assert line.endswith(r"why=a\nINFO b\r\x1b[2J\x7f\x9b\u2028\u202e\ud800 é 漢")
    assert line.encode()


def test_traceback_is_indented_and_escaped_when_one_is_logged() -> None:
    """Its last line is often somebody else's word."""
    said = ValueError("a\n2026-11-30 INFO forged \x1b[2J")
    odd = record("failed")
    odd.exc_info = (ValueError, said, None)
    first, *rest = logs._TextFormatter().format(odd).split("\n")
    assert first.endswith("INFO watcher.responder failed")
    assert rest[-1] == r"  2026-11-30 INFO forged \x1b[2J"
    assert all(line.startswith("  ") for line in rest)


def test_lines_are_dropped_and_counted_when_the_reader_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A full pipe costs lines, never the caller's time; the gap is marked when it ends."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as read:
        full = fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)
        os.write(writer, b"x" * full)
        monkeypatch.setattr(logs, "_WAITING_LIMIT", 3)
        handler = logs._BackgroundHandler(writer)
        for number in range(50):
            handler.emit(record("%s", number))
        read.read(full)
        handler.close()
        handler._thread.join(10)
        os.close(writer)
        assert 1 <= len(read.read().splitlines()) <= 5
    handler.emit(record("last"))
    assert "log lines dropped" in str(handler._lines.get())


async def test_lines_of_the_loop_are_handed_over_when_it_has_had_its_head_start(
    handler: logs._BackgroundHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody writes beside it before that; then all are there, in order."""
    monkeypatch.setattr(logs, "HEAD_START_S", 0.0)
    for number in range(3):
        handler.emit(record("%s", number))
    assert handler._lines.qsize() == 0
    await eventually(lambda: handler._lines.qsize() == 3)
    assert [handler._lines.get_nowait() for _ in range(3)] == ["0", "1", "2"]


async def test_lines_of_the_loop_come_first_when_another_thread_logs_after_them(
    handler: logs._BackgroundHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And at the end of the process, which may be before."""
    monkeypatch.setattr(logs, "HEAD_START_S", 3600.0)
    handler.emit(record("first"))
    await asyncio.to_thread(handler.emit, record("second"))
    assert [handler._lines.get_nowait() for _ in range(2)] == ["first", "second"]
    handler.emit(record("last"))
    await asyncio.to_thread(handler.close)
    assert handler._lines.get_nowait() == "last"


@pytest.mark.ranks
def test_process_ends_with_its_last_line_written_when_it_exits() -> None:
    """Lines of the last moment are the ones people need."""
    code = (
        "import logging; from watcher.logs import start_logging; start_logging('json', 'info'); "
        "[logging.getLogger('x').info('line %s', n) for n in range(200)]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    lines = [json.loads(line)["message"] for line in done.stderr.splitlines()]
    assert lines == [f"line {number}" for number in range(200)]


@pytest.mark.ranks
def test_process_ends_when_nobody_reads_its_log() -> None:
    """A stuck journal does not keep a stopped daemon alive."""
    reader, writer = os.pipe()
    code = (
        "import logging; from watcher.logs import start_logging; start_logging('text', 'info'); "
        "[logging.getLogger('x').info('y' * 1000) for n in range(500)]"
    )
    done = subprocess.run([sys.executable, "-c", code], stderr=writer, timeout=30, check=False)
    os.close(writer)
    os.close(reader)
    assert done.returncode == 0


def test_libraries_stay_quiet_when_the_daemon_is_asked_for_details() -> None:
    """At debug botocore logs session tokens and whole bodies."""
    script = (
        "import logging; from watcher.logs import start_logging; start_logging('text', 'debug'); "
        "[logging.getLogger(n).info('CANARY') for n in ('boto3', 'botocore.auth', 'urllib3')]; "
        "logging.getLogger('watcher').debug('heard'); logging.shutdown()"
    )
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    assert "heard" in said.stderr + said.stdout
    assert "CANARY" not in said.stderr + said.stdout
