"""Reads what lies in a queue: every message leaves one line in the log that says what it was.

Shared by the daemon, whose queue is its node's own, and the relay, whose queue is a cluster's.
"""

import logging
from collections.abc import Callable

from watcher.custody import Message
from watcher.errors import SourceMalformed
from watcher.metrics import Metrics
from watcher.notice import Moment
from watcher.sources.reading import Ignored, Notices, Reading
from watcher.sources.remembered import Remembered

log = logging.getLogger(__name__)


class Intake:
    """Says of each message what it is, and of each verdict why; verdicts are counted.

    A verdict is a word of the code, so that it can label a metric.

    Args:
        parse: Reads the cloud's messages; raises SourceMalformed at what is none.
        metrics: Counts verdicts.
        now: Reads both clocks.
    """

    def __init__(
        self,
        parse: Callable[[str, Moment], Reading],
        metrics: Metrics,
        now: Callable[[], Moment],
    ) -> None:
        self._parse = parse
        self._metrics = metrics
        self._now = now
        self._told = Remembered(now)

    def read(self, message: Message) -> Reading | None:
        """Return what the message says; None when it is refused.

        What is refused stays in the queue, and goes to the dead-letter queue with the evidence.
        """
        try:
            reading = self._parse(message.body, self._now())
        except SourceMalformed as error:
            self.tell(message, "refused", str(error))
            return None
        if isinstance(reading, Ignored):
            self.tell(message, f"ignored_{reading.grounds}", reading.why)
        return reading

    def tell(
        self, message: Message, verdict: str, why: str, notices: Notices | None = None
    ) -> None:
        """Count the verdict, and log it unless the same was said of the message before."""
        self._metrics.messages.labels(verdict).inc()
        told = f"{message.id} {verdict}"
        if told in self._told:
            return
        self._told.add(told)
        kinds = {told.notice.kind for told in notices.addressed} if notices else ()
        level = logging.WARNING if verdict in ("refused", "undecided") else logging.INFO
        log.log(
            level,
            "message %s message_id=%s kind=%s receipts=%d why=%s",
            verdict,
            message.id,
            ",".join(sorted(kinds)) or "none",
            message.receipts,
            why,
        )
