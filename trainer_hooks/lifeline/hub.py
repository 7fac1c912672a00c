"""Rank 0's end of all lines: whose machine is lost is noticed here, and told to all others."""

import errno
import secrets
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from trainer_hooks.lifeline.line import EndedError, Line, UnansweredError, Word

TOKEN_BYTES = 16
HELLO_BYTES = TOKEN_BYTES + 4
"""What a rank says first: the token, and its number."""

HELLO_S = 10.0
"""How long somebody may be connected who has not said who it is, in seconds."""

STRANGERS = 64
"""How many of those are kept at a time, beyond the ranks that are to come."""

LOOK_S = 0.5
"""How often those that have ended without a word are looked at, in seconds."""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
"""Why nobody can be let in for now. Source: accept(2) (read 2026-11-30)."""


@dataclass(slots=True)
class _Stranger:
    """Somebody who has connected, and what has been said of who it is."""

    since_s: float
    hello: bytes = b""


class Hub:
    """Holds a line to every other rank. Its thread calls ``serve``.

    Args:
        size: Number of ranks.
        lost_s: Seconds after which a machine that does not answer, or a process that has ended
            without a word, is lost.
        on_lost: Called once, with who is lost and how that is known, after all others were told.
    """

    def __init__(self, size: int, lost_s: int, on_lost: Callable[[str], None]) -> None:
        self.token = secrets.token_bytes(TOKEN_BYTES)
        self._size = size
        self._lost_s = lost_s
        self._on_lost = on_lost
        self._lines: dict[int, Line] = {}
        self._ended_s: dict[int, float] = {}
        self.gone: set[int] = set()
        """The ranks whose lines have ended, in order or not. Any thread may look."""
        self._strangers: dict[socket.socket, _Stranger] = {}
        self._listening = _listen(size)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._is_over = False

    @property
    def port(self) -> int:
        """Where it listens, on all addresses of this machine."""
        port: int = self._listening.getsockname()[1]
        return port

    def serve(self, awake: socket.socket) -> None:
        """Notice who is lost, until one is.

        Args:
            awake: Turns readable when this has to end.
        """
        self._selector.register(awake, selectors.EVENT_READ)
        while not self._is_over:
            is_waiting = self._ended_s or self._strangers
            for key, _ in self._selector.select(LOOK_S if is_waiting else None):
                if key.fileobj is awake:
                    return
                self._attend(key)
            self._miss_the_ended()

    def close(self, *, is_orderly: bool) -> None:
        """Hang up; if it is not in order, the others will miss this rank."""
        for line in self._lines.values():
            if is_orderly:
                line.say(Word.BYE, 0)
            line.close()
        for stranger in self._strangers:
            stranger.close()
        self._listening.close()
        self._selector.close()

    def _attend(self, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._listening:
            self._accept()
        elif key.data is None:
            self._meet(cast("socket.socket", key.fileobj))
        else:
            self._hear(key.data)

    def _accept(self) -> None:
        try:
            stranger, _ = self._listening.accept()
        except OSError as error:
            if error.errno in _EXHAUSTED:  # it waits on, and would be tried without a pause
                time.sleep(LOOK_S)
            return  # else it has gone again
        if len(self._strangers) >= self._size + STRANGERS:
            stranger.close()
            return
        stranger.settimeout(0)
        self._strangers[stranger] = _Stranger(time.monotonic())
        self._selector.register(stranger, selectors.EVENT_READ)

    def _meet(self, stranger: socket.socket) -> None:
        """Learn who has connected; whoever does not know the token is nobody."""
        who = self._strangers[stranger]
        try:
            said = stranger.recv(HELLO_BYTES - len(who.hello))
        except OSError:
            said = b""
        who.hello += said
        if said and len(who.hello) < HELLO_BYTES:
            return
        token, number = who.hello[:TOKEN_BYTES], who.hello[TOKEN_BYTES:]
        rank = int.from_bytes(number, "big")
        if not secrets.compare_digest(token, self.token) or not 0 < rank < self._size:
            self._drop(stranger)
            return
        del self._strangers[stranger]
        if (older := self._lines.pop(rank, None)) is not None:
            self._selector.unregister(older.connection)
            older.close()
        with suppress(OSError):
            stranger.send(self.token[::-1])  # so that it knows whom it has reached
        self._lines[rank] = Line(stranger, self._lost_s)
        self._ended_s.pop(rank, None)
        self.gone.discard(rank)
        self._selector.modify(stranger, selectors.EVENT_READ, rank)

    def _hear(self, rank: int) -> None:
        line = self._lines.get(rank)
        if line is None:
            return  # let go since it became readable
        try:
            for word, _ in line.words():
                if word is Word.BYE:
                    self._let_go(rank)
                    return
        except UnansweredError:
            self._let_go(rank)
            self._lose(rank, f"its machine has not answered for {self._lost_s} s")
        except EndedError:
            self._let_go(rank)
            self._ended_s[rank] = time.monotonic()

    def _miss_the_ended(self) -> None:
        now = time.monotonic()
        for rank, ended_s in list(self._ended_s.items()):
            if not self._is_over and now - ended_s >= self._lost_s:
                self._lose(rank, f"it has ended without a word, {self._lost_s} s ago")
        for stranger, who in list(self._strangers.items()):
            if now - who.since_s >= HELLO_S:
                self._drop(stranger)

    def _lose(self, rank: int, how: str) -> None:
        self._is_over = True
        for line in self._lines.values():
            line.say(Word.LOST, rank)
        self._on_lost(f"rank {rank} is lost: {how}")

    def _let_go(self, rank: int) -> None:
        line = self._lines.pop(rank)
        self.gone.add(rank)
        self._selector.unregister(line.connection)
        line.close()

    def _drop(self, stranger: socket.socket) -> None:
        del self._strangers[stranger]
        self._selector.unregister(stranger)
        stranger.close()


def _listen(size: int) -> socket.socket:
    """Listen on all addresses: by which of them the others reach us is theirs to find out."""
    if socket.has_dualstack_ipv6():
        listening = socket.create_server(
            ("", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=size + STRANGERS
        )
    else:
        listening = socket.create_server(("", 0), backlog=size + STRANGERS)
    listening.settimeout(0)
    return listening
