"""The demo's progress display, on a terminal and without one."""

import io

import pytest
from rehearsal import display as display_module
from rehearsal.display import Display
from rich.console import Console


def test_display_writes_plain_lines_when_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Phases, and the steps of all runs now and then; no control characters."""
    monkeypatch.setattr(display_module, "LINE_EVERY_S", 0.0)
    console = Console(file=io.StringIO(), force_terminal=False)
    with Display(console, steps=120) as display:
        display.phase("node-1 comes up")
        display.follow("unbroken", lambda: 30)
        display.follow("interrupted", lambda: 20)
        display.tick()
    text = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO from above
    assert "s  node-1 comes up\n" in text
    assert "steps done of 120: unbroken 30, interrupted 20\n" in text
    assert "\x1b" not in text


def test_display_writes_no_line_of_progress_when_the_last_one_is_young() -> None:
    """A log is not flooded by 20 ticks a second."""
    console = Console(file=io.StringIO(), force_terminal=False)
    with Display(console, steps=120) as display:
        display.follow("unbroken", lambda: 30)
        for _ in range(20):
            display.tick()
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]  # a StringIO


def test_display_moves_bars_when_there_is_a_terminal() -> None:
    """Each run has a bar with its name and its steps, and phases stand above."""
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Display(console, steps=120) as display:
        display.phase("two runs start")
        display.follow("interrupted", lambda: 47)
        display.tick()
    text = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "two runs start" in text
    assert "interrupted" in text
    assert "47/120" in text
