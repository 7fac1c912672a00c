"""One line between two machines: a TCP connection on which nothing is said while both are there.

The kernel asks for signs of life, and the other kernel answers, whatever its processes do: one that
is stopped in a debugger, or holds the interpreter's lock for minutes, is not lost. A machine that
has no power, no network or no kernel does not answer.
"""

import errno
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum

LOST_S = 60
"""Seconds without a sign of life after which a machine is lost: twice the longest pause that a
cloud announces for one that it keeps, Azure's memory-preserving maintenance of up to 30 s
(learn.microsoft.com/azure/virtual-machines/maintenance-and-updates, read 2026-11-30)."""

QUESTIONS = 6
"""How often the kernel asks in that time."""

_WORD = struct.Struct("!cI")
_UNANSWERED = {errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH}
"""What a connection ends with to which nobody answers: tcp(7) and, from routers, icmp(7)."""


class Word(Enum):
    """What can be said on a line; each with the number of a rank."""

    LOST = b"L"
    """That rank is lost."""
    BYE = b"B"
    """The rank that says so leaves in order, and is not to be missed."""


class UnansweredError(Exception):
    """Raised when the machine at the other end does not answer any more."""


class EndedError(Exception):
    """Raised when the process at the other end has closed the line, or was ended."""


class Line:
    """One end of a line, which never blocks.

    Args:
        connection: Connected; closed with the line.
        lost_s: As ``LOST_S``.
    """

    def __init__(self, connection: socket.socket, lost_s: int) -> None:
        self.connection = connection
        self._received = b""
        connection.settimeout(0)
        pause_s = max(1, lost_s // QUESTIONS)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, pause_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, pause_s)
        # It bounds what was sent and is not acknowledged, too, and counts instead of KEEPCNT.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, lost_s * 1000)

    def words(self) -> Iterator[tuple[Word, int]]:
        """Yield what has been said and not been read.

        Raises:
            UnansweredError: The other machine is lost.
            EndedError: The other process has ended, or says what is no word of ours.
        """
        while (data := self._receive()) is not None:
            self._received += data
            while len(self._received) >= _WORD.size:
                kind, rank = _WORD.unpack_from(self._received)
                self._received = self._received[_WORD.size :]
                if kind not in [word.value for word in Word]:
                    raise EndedError
                yield Word(kind), rank

    def say(self, word: Word, rank: int) -> None:
        """Say a word; to whom it does not come, that one has gone."""
        with suppress(OSError):
            self.connection.send(_WORD.pack(word.value, rank))

    def close(self) -> None:
        """Hang up, also for forked children that hold the connection open."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def _receive(self) -> bytes | None:
        """Return what has come; None if there is no more for now."""
        try:
            data = self.connection.recv(1024)
        except BlockingIOError:
            return None
        except OSError as error:
            raise UnansweredError if error.errno in _UNANSWERED else EndedError from error
        if not data:
            raise EndedError
        return data
