"""A server on loopback that sends what the test says, be it HTTP or not."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Reaction = Callable[[socket.socket], None]


class OddServer:
    """Takes each connection in a thread of its own, and does ``react`` once a request is there."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.react: Reaction = sending(b"")
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._lines: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            self._lines.append(line)
            thread = threading.Thread(target=self._serve, args=(line,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError):
            self.requests.append(line.recv(65_536).decode("ascii"))
            self.react(line)

    def close(self) -> None:
        """End every connection, and every thread."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._threads[0].join()
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()


def sending(data: bytes) -> Reaction:
    """Send it and close."""
    return lambda line: line.sendall(data)


def answering(body: bytes, status: str = "200 OK") -> Reaction:
    """Send a whole answer."""
    return sending(
        b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status.encode(), len(body), body)
    )


def holding(line: socket.socket) -> None:
    """Take the request and say nothing, for as long as the client stays."""
    line.recv(1)


def resetting(line: socket.socket) -> None:
    """End the connection with a reset."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def trickling(line: socket.socket) -> None:
    """Send a header without end, a byte now and then."""
    line.sendall(b"HTTP/1.1 200 OK\r\nX-Odd: ")
    while True:
        line.sendall(b"x")
        threading.Event().wait(0.01)


@contextmanager
def odd_server() -> Iterator[OddServer]:
    """Run it inside the block."""
    server = OddServer()
    try:
        yield server
    finally:
        server.close()
