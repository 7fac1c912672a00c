"""How far long work is: shown to people, and to nobody else."""

import io
import sys

import pytest

from trainer_hooks.commands.progress import progress


class Terminal(io.StringIO):
    """Standard error as a person sees it, or not."""

    def __init__(self, *, is_watched: bool) -> None:
        super().__init__()
        self._is_watched = is_watched

    def isatty(self) -> bool:
        """Tell whether somebody watches."""
        return self._is_watched


@pytest.mark.parametrize("is_watched", [True, False])
def test_bar_is_shown_when_somebody_watches(
    monkeypatch: pytest.MonkeyPatch, *, is_watched: bool
) -> None:
    """A file or a pipe gets none of it."""
    terminal = Terminal(is_watched=is_watched)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress("step 10", 1000) as on_bytes:
        for _ in range(4):
            on_bytes(250)
    assert ("step 10" in terminal.getvalue()) == is_watched
