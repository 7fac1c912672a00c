"""The progress bar."""

import io

from trainer_hooks.waste.progress import ProgressBar


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_bar_fills_up_and_is_gone_when_all_is_done() -> None:
    """Each percent is drawn once."""
    terminal = Terminal()
    bar = ProgressBar("playing", terminal)
    for done in (0.0, 0.5, 0.501, 1.0):
        bar(done)
    drawn = terminal.getvalue().split("\r")[1:]
    assert [line.split()[-2] for line in drawn[:3]] == ["0", "50", "100"]
    assert drawn[1].count("█") == drawn[1].count("·") == 20
    assert drawn[3] == "\x1b[K"


def test_nothing_is_drawn_when_nobody_looks() -> None:
    """A log is no terminal."""
    stream = io.StringIO()
    ProgressBar("playing", stream)(0.5)
    assert not stream.getvalue()
