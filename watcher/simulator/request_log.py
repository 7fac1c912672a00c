"""What the simulator was asked: the last requests, so that a test can count and compare."""

import json
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from logging.handlers import QueueListener
from pathlib import Path
from queue import SimpleQueue
from weakref import WeakKeyDictionary

from aiohttp import web

from watcher.simulator.clock import ScenarioClock

KEPT = 10_000
"""Requests kept: nearly three hours of one poll a second."""

HEADERS_THAT_MATTER = (
    *("X-aws-ec2-metadata-token", "X-aws-ec2-metadata-token-ttl-seconds"),
    *("Metadata-Flavor", "Metadata"),
    *("Host", "User-Agent", "Via", "X-Forwarded-For"),
)
"""What lets a client in, and the traces that a proxy on the way would leave."""


@dataclass(kw_only=True, slots=True)
class LoggedRequest:
    """One request; ``status`` stays None until it is answered, for ever if it hangs.

    ``query`` is what follows the question mark, as it was sent. ``connection`` numbers the TCP
    connections from 1 in the order of their first request.
    """

    at_s: float
    method: str
    path: str
    query: str
    headers: dict[str, str]
    connection: int
    fault: str | None
    status: int | None = None


Ended = Callable[[LoggedRequest], None]
"""Is told of every request that was answered, or whose client has gone."""


class RequestLog:
    """Remembers requests in the order in which they arrived."""

    def __init__(self, clock: ScenarioClock, ended: Ended | None = None) -> None:
        self._clock = clock
        self._ended = ended
        self._requests: deque[LoggedRequest] = deque(maxlen=KEPT)
        self._connections: WeakKeyDictionary[object, int] = WeakKeyDictionary()
        self._connections_seen = 0

    def open(self, request: web.Request, fault: str | None) -> LoggedRequest:
        """Note a request that has just arrived and return its entry, to be given a status."""
        sent = request.headers
        entry = LoggedRequest(
            at_s=self._clock.elapsed_s(),
            method=request.method,
            path=request.path,
            query=request.rel_url.raw_query_string,
            headers={name: sent[name] for name in HEADERS_THAT_MATTER if name in sent},
            connection=self._connection_number(request),
            fault=fault,
        )
        self._requests.append(entry)
        return entry

    def close(self, entry: LoggedRequest) -> None:
        """Note that nothing more will come of a request."""
        if self._ended:
            self._ended(entry)

    async def list_requests(self, _request: web.Request) -> web.Response:
        """Answer with the requests as JSON, oldest first."""
        return web.json_response({"requests": [asdict(entry) for entry in self._requests]})

    def _connection_number(self, request: web.Request) -> int:
        # Ports are used again, so the transport itself is the key: it dies with its connection.
        number = self._connections.get(request.transport)
        if number is None:
            self._connections_seen += 1
            number = self._connections_seen
            if request.transport is not None:
                self._connections[request.transport] = number
        return number


@contextmanager
def json_lines(path: Path) -> Iterator[Ended]:
    """Append requests to ``path``, one JSON object a line, each as soon as it has ended.

    They are written in a thread of its own: a slow disk must not delay an answer.

    Raises:
        OSError: The file can't be written to.
    """
    lines: SimpleQueue[logging.LogRecord] = SimpleQueue()
    file = logging.FileHandler(path, encoding="utf-8")
    writer = QueueListener(lines, file)
    writer.start()

    def write(entry: LoggedRequest) -> None:
        lines.put(logging.makeLogRecord({"msg": json.dumps(asdict(entry))}))

    try:
        yield write
    finally:
        writer.stop()
        file.close()
