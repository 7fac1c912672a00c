"""What a check has found, and what a person can do about it."""

import textwrap
from dataclasses import dataclass
from enum import StrEnum

_ARROW = "        -> "


class Verdict(StrEnum):
    """How a check came out; only ``wrong`` makes the doctor's exit status 1."""

    OK = "ok"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    """It could not be checked; another finding says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    checked: str
    verdict: Verdict
    found: str
    todo: str = ""
    """Empty where there is nothing to do."""

    def __str__(self) -> str:
        """Return the line for people."""
        line = f"{self.verdict:8}{self.checked}: {self.found}"
        return f"{line}\n{_ARROW}{self.todo}" if self.todo else line

    def wrapped(self, width: int) -> str:
        """Return the same for a terminal so wide, in whose middle no long line has to be sought."""
        parts = ((f"{self.verdict:8}", f"{self.checked}: {self.found}"), (_ARROW, self.todo))
        return "\n".join(_folded(head, text, width) for head, text in parts if text)


def _folded(head: str, text: str, width: int) -> str:
    return textwrap.fill(
        text,
        max(width, 2 * len(head)),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,  # or a path or an address would end in the middle
    )


def ok(checked: str, found: str) -> Finding:
    """Return what is as it should be."""
    return Finding(checked, Verdict.OK, found)


def wrong(checked: str, found: str, todo: str) -> Finding:
    """Return what has to be mended."""
    return Finding(checked, Verdict.WRONG, found, todo)


def unknown(checked: str, found: str) -> Finding:
    """Return what could not be checked."""
    return Finding(checked, Verdict.UNKNOWN, found)
