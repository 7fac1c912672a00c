"""A way to a real S3 server on which requests meet what the test says."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server has said."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


Fault = Callable[["Asked"], Answer | None]
"""Returns what the client gets; None for a connection that ends without an answer."""


@dataclass(slots=True)
class Asked:
    """A request on its way."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    server: str

    def passed_on(self) -> Answer:
        """Have the server do it."""
        line = http.client.HTTPConnection(self.server, timeout=30)
        try:
            line.request(self.method, self.target, self.body, self.headers)
            answer = line.getresponse()
            ours = _OUR_OWN - ({"content-length"} if self.method == "HEAD" else set())
            kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in ours]
            return Answer(answer.status, kept, answer.read())
        finally:
            line.close()


_OUR_OWN = {"transfer-encoding", "connection", "content-length"}


def passing(asked: Asked) -> Answer | None:
    """Do nothing to it."""
    return asked.passed_on()


def saying(status: int) -> Fault:
    """Answer so, and do nothing."""
    return lambda _: Answer(status, [], b"<Error><Code>Injected</Code></Error>")


def silent(_: Asked) -> None:
    """End the connection before anything is done."""


def losing_the_answer(asked: Asked) -> None:
    """Do it, and end the connection."""
    asked.passed_on()


def cutting(asked: Asked) -> Answer | None:
    """Promise the whole body and give half of it."""
    answer = asked.passed_on()
    length = ("Content-Length", str(len(answer.body)))
    return Answer(answer.status, [*answer.headers, length], answer.body[: len(answer.body) // 2])


@dataclass(slots=True)
class FaultyStore:
    """The way. What ``fault`` is at the moment, requests that ``concerns`` holds of meet."""

    endpoint: str = ""
    fault: Fault = passing
    concerns: Callable[[Asked], bool] = lambda _: True
    at_most: int = 1_000_000
    """So many of them; then they pass."""
    met: list[str] = field(default_factory=list)
    """What has met the fault."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def inject(
        self,
        fault: Fault,
        concerns: Callable[[Asked], bool] = lambda _: True,
        at_most: int = 1_000_000,
    ) -> None:
        """From now on."""
        with self.lock:
            self.fault, self.concerns, self.at_most = fault, concerns, at_most
            self.met.clear()

    def answer(self, asked: Asked) -> Answer | None:
        """Return what the client gets."""
        with self.lock:
            is_met = self.concerns(asked) and len(self.met) < self.at_most
            if is_met:
                self.met.append(f"{asked.method} {asked.target}")
            fault = self.fault if is_met else passing
        return fault(asked)


@contextmanager
def faulty_way(endpoint: str) -> Iterator[FaultyStore]:
    """Open a way to a server."""
    way = FaultyStore()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_address_: ClassVar[str] = urlsplit(endpoint).netloc

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65_537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {k: v for k, v in self.headers.items() if k.lower() != "connection"}
            answer = way.answer(Asked(self.command, self.path, headers, body, self.server_address_))
            if answer is None:
                self.close_connection = True
                return
            self.send_response_only(answer.status)
            names = set()
            for name, value in answer.headers:
                self.send_header(name, value)
                names.add(name.lower())
            if "content-length" not in names:
                self.send_header("Content-Length", str(len(answer.body)))
            else:
                self.close_connection = True
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)
            self.wfile.flush()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    way.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield way
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
