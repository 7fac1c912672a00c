"""What is said of each message in log and metrics."""

import pytest

from tests.support.clocks import TurnedClock
from tests.support.moto_aws import spot_warning
from watcher.custody import Message
from watcher.metrics import Metrics
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.intake import Intake
from watcher.sources.reading import Notices


def message(body: str, receipts: int = 1) -> Message:
    """Build a message."""
    return Message(id="m", handle=f"m-{receipts}", body=body, receipts=receipts)


def test_poison_is_counted_each_time_and_logged_once_when_it_comes_back(
    metrics: Metrics, clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """What nobody can read must not fill the log on its way to the dead-letter queue."""
    intake = Intake(parse_message, metrics, clock)
    for receipt in (1, 2, 3):
        assert intake.read(message("poison", receipt)) is None
    counted = metrics.registry.get_sample_value("reprieve_messages_total", {"verdict": "refused"})
    assert counted == 3
    [line] = caplog.messages
    assert line.startswith("message refused message_id=m kind=none receipts=1 why=")
    assert "poison" in line


def test_message_is_logged_with_its_kinds_when_it_is_a_notice(
    metrics: Metrics, clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """And once more when another verdict is given, such as that it is a duplicate."""
    caplog.set_level("INFO")
    intake = Intake(parse_message, metrics, clock)
    said = message(spot_warning("i-1"))
    reading = intake.read(said)
    assert isinstance(reading, Notices)
    intake.tell(said, "notice", "it is for us", reading)
    intake.tell(said, "duplicate", "all is done about it", reading)
    assert caplog.messages == [
        "message notice message_id=m kind=preemption receipts=1 why=it is for us",
        "message duplicate message_id=m kind=preemption receipts=1 why=all is done about it",
    ]
