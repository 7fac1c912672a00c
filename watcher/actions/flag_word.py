"""The watcher's word to the trainers: what the flag is to say, by the state, numbered.

The flag file and the notice over HTTP both pass it on, so that they never say two things. The
state is the truth and not the file: where that can't be written, the word is said all the same.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from watcher.actions.flag_v1 import Writer, answer, compose
from watcher.notice import Moment, Standing
from watcher.state import State

HEAD_START_S = 0.02
"""Seconds by which the flag file and the signal are ahead of those who wait here: answering all of
them takes the loop for milliseconds, and the file may be written in a thread beside it."""


@dataclass(frozen=True, slots=True)
class Word:
    """What is to be said from an instant on."""

    seq: int
    """Grows with every word of one boot, also over a restart of the daemon."""
    said: Moment
    flag: bytes | None
    """The flag file's content; None while no notice is in force."""


class FlagWord:
    """Keeps the word equal to the state, and lets those wait who want to hear the next.

    For use in the loop alone, like the state.
    """

    def __init__(self, writer: Writer, state: State, now: Callable[[], Moment]) -> None:
        self._writer = writer
        self._state = state
        self._now = now
        self._in_force: tuple[Standing, ...] = ()
        self._next = asyncio.Event()
        self._word = self._compose(seq=0)

    def current(self) -> Word:
        """Return the word, said anew where the state has changed since."""
        if self._state.in_force() != self._in_force:
            self.renew()
        return self._word

    def renew(self) -> None:
        """Say it anew, with stamps of now, and wake who waits for that, a little later."""
        self._word = self._compose(self._word.seq + 1)
        heard, self._next = self._next, asyncio.Event()
        asyncio.get_running_loop().call_later(HEAD_START_S, heard.set)

    async def next_after(self, seq: int) -> None:
        """Return as soon as the word is another one than that of ``seq``."""
        while self.current().seq == seq:
            await self._next.wait()

    def answer(self) -> bytes:
        """Return the word as it is said over HTTP."""
        word = self.current()
        return answer(word.flag, self._writer, word.seq)

    def _compose(self, seq: int) -> Word:
        said = self._now()
        # Milliseconds of boottime: grows with every word of one boot, across restarts.
        seq = max(seq, int(said.boottime_s * 1000))
        self._in_force = in_force = self._state.in_force()
        flag = compose(in_force, self._writer, said, seq) if in_force else None
        return Word(seq, said, flag)
