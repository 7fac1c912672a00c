"""What a source has seen last, key by key, and since when it has been blind.

A key is one thing a source asks for, such as a metadata path. Health is kept a key, because a
source that still hears about rebalances and no longer about preemptions is blind.
"""

from dataclasses import dataclass

from watcher.errors import SourceError
from watcher.metrics import Metrics
from watcher.notice import Moment

_NEVER_ANSWERED = "has not answered yet"


@dataclass(slots=True)
class KeyHealth:
    """The last word on one key; ``blind_since`` is None while its last answer was usable."""

    blind_since: Moment | None
    why: str = _NEVER_ANSWERED
    last_answer: str = "unknown"
    """``present``, ``absent`` or ``unknown`` (no usable answer yet)."""
    answered: Moment | None = None


class SourceHealth:
    """Keeps and counts what became of a source's fetches.

    A key that has never answered counts as blind from ``started`` on. Where the source is not
    required, people and metrics see that as of any other, and the node is fit all the same.
    """

    def __init__(
        self,
        source: str,
        keys: tuple[str, ...],
        started: Moment,
        metrics: Metrics,
        *,
        is_required: bool = True,
    ) -> None:
        self.source = source
        self._is_required = is_required
        self.facts: dict[str, str] = {}
        """What the source has learnt of the node besides notices, for people."""
        self.keys = {key: KeyHealth(blind_since=started) for key in keys}
        self._metrics = metrics
        self._export()

    def answered(self, key: str, what: str, at: Moment, *, took_s: float | None) -> bool:
        """Note a usable answer, ``present`` or ``absent``, that took ``took_s`` seconds.

        None stands for an answer that was held back on purpose.

        Returns:
            Whether that is news worth a log line: the key was blind until now.
        """
        is_news = self.keys[key].blind_since is not None
        self.keys[key] = KeyHealth(None, "", what, at)
        self._metrics.fetches.labels(self.source, what).inc()
        if took_s is not None:
            self._metrics.fetch_seconds.labels(self.source).observe(took_s)
        self._metrics.source_last_answer.labels(self.source).set(at.wall.timestamp())
        self._export()
        return is_news

    def failed(self, error: SourceError, at: Moment) -> bool:
        """Note a fetch that left its key unknown; tell whether that is news worth a log line.

        News is that the key has gone blind, or is blind for another reason than before.
        """
        health = self.keys[error.key]
        is_news = str(error) != health.why
        health.blind_since = health.blind_since or at
        health.why = str(error)
        self._metrics.fetches.labels(self.source, error.outcome).inc()
        self._export()
        return is_news

    def blind_since(self) -> Moment | None:
        """Return when the key that has been blind for longest went blind; None if none is."""
        blind = [health.blind_since for health in self.keys.values() if health.blind_since]
        return min(blind, key=lambda moment: moment.boottime_s, default=None)

    def unfit(self, now: Moment, limit_s: float) -> dict[str, KeyHealth]:
        """Return the keys that never answered, or have been blind for longer than ``limit_s``.

        None of a source that is not required.
        """
        return {
            key: health
            for key, health in self.keys.items()
            if self._is_required
            and health.blind_since is not None
            and (
                health.answered is None or now.boottime_s - health.blind_since.boottime_s > limit_s
            )
        }

    def _export(self) -> None:
        since = self.blind_since()
        self._metrics.source_up.labels(self.source).set(since is None)
        self._metrics.source_blind_since.labels(self.source).set(
            since.wall.timestamp() if since else 0
        )
