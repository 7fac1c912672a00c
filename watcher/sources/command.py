"""Notices from any program: the way in for clouds and schedulers that have no source yet.

In mode ``lines`` the program runs for as long as the daemon, and each line that it prints is a
notice in JSON, or takes one back. In mode ``status`` it is run over and over: exit status 0 says
that a notice is in force, 1 that none is, and every other one that it is unknown.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from watcher.errors import SourceError, SourceMalformed, SourceUnavailable
from watcher.health import SourceHealth
from watcher.notice import Moment, Notice, NoticeKind
from watcher.program import Process, Program
from watcher.side_thread import SideThread
from watcher.sources import command_doctor
from watcher.sources.command_config import READERS, CommandConfig
from watcher.sources.notice_line import KINDS, Unsaid, bare, parse_line
from watcher.sources.road import Kinds, Opened, Road, Site
from watcher.sources.told import Told

log = logging.getLogger(__name__)

NAME = "command"
KEY = "program"

ABSENCES_TO_WITHDRAW = 3
"""Consecutive statuses 1 before a notice is withdrawn: many a script that crashes ends with 1."""

BETWEEN_LINES_S = 0.01
"""Seconds between two lines, so that a program that prints without end holds up only itself."""

_LONGEST_REST_S = 60.0


class Command:
    """What one program tells; see :class:`watcher.sources.base.Source`.

    Args:
        config: Which program.
        health: Where usable answers are noted.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.
    """

    name = NAME

    def __init__(
        self,
        config: CommandConfig,
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: Iterable[Notice] = (),
    ) -> None:
        self.health = health
        self._config = config
        self._argv = config.argv or ()
        self._unsaid = Unsaid(NAME, NoticeKind(config.kind), config.window_s)
        self._now = now
        self._clock = asyncio.get_running_loop().time
        self._thread = SideThread[Process](NAME)
        self._told = Told(adopted)
        self._program: Program | None = None
        self._start_at = 0.0
        self._prove_at: float | None = None
        self._failures = 0
        self._absences = 0
        self._garbage = ""

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield each notice when it is told, and when it is taken back."""
        hear = self._next_line if self._config.mode == "lines" else self._next_status
        while True:
            try:
                news = await hear()
            except SourceError as error:
                error.key = KEY
                self._absences = 0
                raise
            for notice in news:
                yield notice

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing: a program takes no answer."""

    async def close(self) -> None:
        """End the program if it runs."""
        if self._program is not None:
            await self._program.end()
            self._program = None  # not before: who is cancelled here is followed by another

    async def _next_line(self) -> list[Notice]:
        program = self._program or await self._started()
        await asyncio.sleep(BETWEEN_LINES_S)
        try:
            async with asyncio.timeout_at(self._prove_at):
                line = await program.line()
            if line is None:
                await self._rest()
                raise self._failed(program, "ended")
            news = self._told.heard(self._parsed(line)) if line.strip() else []
        except TimeoutError:
            news = []  # it runs, and has nothing to say
        except SourceMalformed as error:
            # The first of a row names them all, so that a flood is counted and not logged.
            self._garbage = self._garbage or str(error)
            raise SourceMalformed(self._garbage) from error
        self._garbage, self._prove_at = "", None
        self._answered(0.0)
        return news

    async def _rest(self) -> None:
        """Put the next start off, further each time that the program has not proved itself."""
        self._failures = 0 if self._prove_at is None else min(self._failures + 1, 10)
        rest_s = self._config.interval_s * 2 ** max(0, self._failures - 1)
        self._start_at = self._clock() + min(rest_s, max(_LONGEST_REST_S, self._config.interval_s))
        await self.close()

    async def _next_status(self) -> list[Notice]:
        program, began = await self._started(), self._clock()
        try:
            async with asyncio.timeout(self._config.limit_s):
                first = await _first_line(program)
                status = await program.ended()
        except TimeoutError as error:
            why = f"{self._argv[0]} has not ended within {self._config.limit_s:g} s"
            raise SourceUnavailable(why, outcome="timeout") from error
        finally:
            await self.close()
        if status not in (0, 1):
            raise self._failed(program, "exit_status")
        self._absences = self._absences + 1 if status == 1 else 0
        if status == 0:
            news = self._told.only(self._in_force(first))
        else:
            news = self._told.none() if self._absences >= ABSENCES_TO_WITHDRAW else []
        self._answered(self._clock() - began)
        return news

    def _in_force(self, first: bytes) -> Notice:
        """Return the notice that status 0 tells of, with what the first line adds to it."""
        try:
            told = self._parsed(first) if first else bare(self._now(), self._unsaid)
        except SourceMalformed as error:
            return bare(self._now(), self._unsaid, str(error))
        if told.withdrawn:
            raise SourceMalformed("line: withdrawn, with exit status 0 that says the opposite")
        return told

    async def _started(self) -> Program:
        """Start the program when its time has come."""
        await asyncio.sleep(self._start_at - self._clock())
        began = self._clock()
        self._start_at = began + self._config.interval_s
        self._prove_at = began + self._config.limit_s
        try:
            self._program = await Program.start(self._argv, self._thread)
        except OSError as error:
            why = f"{self._argv[0]} can't be started: {error.strerror}"
            raise SourceUnavailable(why, outcome="not_started") from error
        return self._program

    def _parsed(self, line: bytes) -> Notice:
        return parse_line(line, self._now(), self._unsaid)

    def _failed(self, program: Program, outcome: str) -> SourceUnavailable:
        said = program.last_words() or "nothing"
        why = f"{self._argv[0]} has ended with status {program.status}, saying {said}"
        return SourceUnavailable(why, outcome=outcome)

    def _answered(self, took_s: float) -> None:
        what = "present" if self._told else "absent"
        if self.health.answered(KEY, what, self._now(), took_s=took_s):
            log.info("source answers source=%s key=%s answer=%s", NAME, KEY, what)


async def _first_line(program: Program) -> bytes:
    """Read on until the program has no more to say, and return the first line that is not empty."""
    first = b""
    while True:
        try:
            line = await program.line()
        except SourceMalformed:
            line = b"too long"
        if line is None:
            return first
        first = first or line.strip()


def wanted(config: CommandConfig) -> Kinds:
    """Return this source if there is a program."""
    return {NAME: KINDS} if config.argv else {}


@asynccontextmanager
async def opened(config: CommandConfig, site: Site) -> AsyncIterator[Opened]:
    """Hear the program until the end of the block, and end it there."""
    source = Command(config, site.health(NAME, (KEY,)), site.now, site.left_by(NAME))
    try:
        yield Opened(sources=(source,))
    finally:
        await source.close()


ROAD = Road(
    section=NAME,
    cloud=None,
    settings=CommandConfig,
    readers=READERS,
    wanted=wanted,
    opened=opened,
    edges=(NAME,),
    checks=command_doctor.checks,
)
