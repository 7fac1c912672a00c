"""What the daemon asks of a source."""

from collections.abc import AsyncIterator
from typing import Protocol

from watcher.health import SourceHealth
from watcher.notice import Notice


class Source(Protocol):
    """Hears notices in one place, such as a metadata server, for as long as the daemon runs."""

    name: str
    health: SourceHealth
    """Where the source notes each usable answer."""

    def notices(self) -> AsyncIterator[Notice]:
        """Yield each notice once when it is first seen, and once more when it is withdrawn.

        Never ends by itself. An iterator that has raised is finished; what the source knows lives
        on in the source, and the next call goes on from there, at the source's own pace.

        Raises:
            SourceError: One fetch has failed; it is unknown whether there is a notice.
        """
        ...

    def acknowledge(self, notice: Notice) -> None:
        """Take in that all is done about a notice of this source; returns at once.

        A queue may now forget what said it. A level does nothing: it is read again anyway.
        """
        ...
