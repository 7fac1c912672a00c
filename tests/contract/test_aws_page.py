"""docs/aws.md says what the parsers do."""

from pathlib import Path

from watcher.explain.aws import AWS_BODIES
from watcher.sources import aws_windows
from watcher.sources.aws_messages.registry import PARSERS
from watcher.sources.reading import Grounds

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "aws.md").read_text()


def test_page_lists_every_kind_source_and_ground_when_read() -> None:
    """In the words that stand in messages, on the command line and in metrics."""
    words = {word for kind in PARSERS for word in kind} | set(AWS_BODIES) | set(Grounds)
    assert [word for word in words if f"`{word}" not in PAGE] == []


def test_page_has_the_windows_when_compared() -> None:
    """The figures of the tables are the constants."""
    assert f"at most {aws_windows.SPOT_WINDOW_S:.0f} s away" in PAGE
    assert f"at most {aws_windows.RESERVATION_WINDOW_S:.0f} s away" in PAGE
    assert f"{aws_windows.CAPACITY_BLOCK_WINDOW_S:.0f} s in a Capacity Block" in PAGE
    assert f"at most {aws_windows.SCHEDULED_WINDOW_S / 86_400:.0f} days away" in PAGE
