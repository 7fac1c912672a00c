"""Who gets the relay's notices: the log, and files of JSON lines."""

import json
from pathlib import Path

import pytest

from tests.support.aws_bodies import addressed, body
from tests.support.exhaustion import file_size_limit
from watcher.errors import ActionRetryable
from watcher.relay.handlers import LinesHandler, LogHandler, make_handler
from watcher.relay.lines import Lines
from watcher.sources.reading import ForInstance

LINE = {
    "schema": 1,
    "kind": "termination",
    "source": "aws_sqs",
    "action": "terminate",
    "received_at": "2026-11-30T10:05:08Z",
    "deadline": None,
}


def told() -> ForInstance:
    """Build a notice with a hook."""
    [notice] = addressed(body("asg-terminate"))
    assert isinstance(notice, ForInstance)
    return notice


async def test_log_names_instance_and_hook_when_it_is_the_handler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One line, with the keys that every line about a notice has."""
    caplog.set_level("INFO")
    await LogHandler().handle(told())
    [line] = caplog.messages
    assert line.startswith(f"notice told notice_id={told().notice.id} source=aws_sqs kind=")
    assert f"instance_id={told().instance_id} hook=" in line


async def test_lines_are_appended_when_a_file_is_the_handler(tmp_path: Path) -> None:
    """What was there stays: two relays share the file."""
    file = tmp_path / "notices.jsonl"
    file.write_text("{}\n")
    handler = LinesHandler(Lines(file))
    await handler.handle(told())
    first, line = file.read_text().splitlines()
    shown = json.loads(line)
    assert first == "{}"
    assert shown.items() >= LINE.items()
    assert shown["id"] == told().notice.id
    assert shown["instance_id"] == told().instance_id
    assert set(shown["hook"]) == {"group", "name", "token"}


async def test_line_goes_to_standard_output_when_that_is_the_handler(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """For pipes."""
    await make_handler("-").handle(told())
    assert json.loads(capfdbinary.readouterr().out)["id"] == told().notice.id


async def test_handler_may_be_tried_again_when_the_file_can_not_be_written(tmp_path: Path) -> None:
    """The message stays in the queue until it can be."""
    file = tmp_path / "missing" / "notices.jsonl"
    with pytest.raises(ActionRetryable, match="missing"):
        await LinesHandler(Lines(file)).handle(told())


async def test_line_counts_only_when_it_is_whole_after_a_file_size_limit(tmp_path: Path) -> None:
    """What the limit has cut off is no notice; the whole line follows on a line of its own."""
    file = tmp_path / "notices.jsonl"
    handler = LinesHandler(Lines(file))
    await handler.handle(told())
    with file_size_limit(file.stat().st_size + 40), pytest.raises(ActionRetryable, match="large"):
        await handler.handle(told())
    await handler.handle(told())
    first, torn, last = file.read_text().splitlines()
    assert first == last
    assert torn == first[:40]
