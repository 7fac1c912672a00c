"""Words seen lately, and not too many: what makes a queue's duplicates and reordering harmless.

A queue gives a message out at least once and in any order; it keeps ours for minutes, so a day is
beyond every repetition.
"""

from collections.abc import Callable

from watcher.notice import Moment

KEPT_S = 86_400.0
KEPT = 10_000
"""A fleet of a thousand nodes that is taken ten times a day; more push out the oldest."""


class Remembered:
    """A set of words that forgets what is older than a time, or than ten thousand others."""

    def __init__(self, now: Callable[[], Moment], *, kept_s: float = KEPT_S) -> None:
        self._now = now
        self._kept_s = kept_s
        self._since: dict[str, float] = {}  # in the order they came: the oldest first

    def add(self, word: str) -> None:
        """Remember a word from now on."""
        at = self._now().boottime_s
        self._since.pop(word, None)
        self._since[word] = at
        while self._since:
            oldest, since = next(iter(self._since.items()))
            if len(self._since) <= KEPT and at - since <= self._kept_s:
                return
            del self._since[oldest]

    def __contains__(self, word: str) -> bool:
        since = self._since.get(word)
        return since is not None and self._now().boottime_s - since <= self._kept_s
