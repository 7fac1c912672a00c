"""Every other rank's end: the one line that it has, to rank 0's machine."""

import select
import socket
from collections.abc import Callable, Sequence

from trainer_hooks.lifeline.line import EndedError, Line, UnansweredError, Word

CONNECT_S = 10.0
"""How long one address of rank 0's is tried, in seconds."""


class Spoke:
    """Holds the line to rank 0. Its thread calls ``serve``.

    Args:
        rank: This one's number.
        lost_s: As for the hub.
        on_lost: Called once, with who is lost and how that is known.
    """

    def __init__(self, rank: int, lost_s: int, on_lost: Callable[[str], None]) -> None:
        self._rank = rank
        self._lost_s = lost_s
        self._on_lost = on_lost
        self._line: Line | None = None

    def connect(self, hosts: Sequence[str], port: int, token: bytes) -> None:
        """Open the line by the first address at which rank 0 answers.

        Raises:
            OSError: It answers at none.
        """
        failures = []
        for host in dict.fromkeys(hosts):
            try:
                connection = socket.create_connection((host, port), CONNECT_S)
            except OSError as error:
                failures.append(f"{host}: {error}")
                continue
            try:
                connection.sendall(token + self._rank.to_bytes(4, "big"))
                is_hub = connection.recv(len(token)) == token[::-1]
            except OSError as error:
                is_hub = False
                failures.append(f"{host}: {error}")
            if is_hub:
                self._line = Line(connection, self._lost_s)
                return
            connection.close()  # somebody else's, on a machine of the same address
        raise OSError(f"rank 0 is not reached ({'; '.join(failures)})")

    def serve(self, awake: socket.socket) -> None:
        """Notice who is lost, until one is, or rank 0 leaves in order.

        Args:
            awake: Turns readable when this has to end.
        """
        line = self._line
        if line is None:
            return
        try:
            while awake not in select_readable(line.connection, awake):
                for word, rank in line.words():
                    if word is Word.LOST:
                        self._on_lost(f"rank {rank} is lost, says rank 0")
                    return
        except UnansweredError:
            self._on_lost(f"rank 0 is lost: its machine has not answered for {self._lost_s} s")
        except EndedError:
            if not select_readable(awake, limit_s=self._lost_s):
                self._on_lost(f"rank 0 is lost: it has ended without a word, {self._lost_s} s ago")

    def close(self, *, is_orderly: bool) -> None:
        """Hang up; if it is not in order, the others will miss this rank."""
        if self._line is not None:
            if is_orderly:
                self._line.say(Word.BYE, self._rank)
            self._line.close()


def select_readable(*some: socket.socket, limit_s: float | None = None) -> list[socket.socket]:
    """Wait until one of some sockets is readable or has failed, and return which are."""
    # Not select(): a rank that hosts a Store of hundreds holds descriptors beyond its 1023.
    poll = select.poll()
    for one in some:
        poll.register(one, select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll(None if limit_s is None else limit_s * 1000)}
    return [one for one in some if one.fileno() in ready]
