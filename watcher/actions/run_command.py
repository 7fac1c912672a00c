"""Runs a program with the news of each notice; off unless one is set.

It gets the news as JSON on its standard input and as variables, and no shell. What it does is
nobody's business here: its exit status and its first words go into the log, and that is all.
"""

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher import setting_values
from watcher.actions.news import News, document
from watcher.errors import ActionRefused, first_line
from watcher.program import Process, Program
from watcher.side_thread import SideThread

NAME = "run_command"

SAID_LIMIT_BYTES = 256
"""How much of what it prints is passed on to the log."""

VARIABLES = ("state", "id", "kind", "urgency", "source", "node", "deadline", "drill", "text")
"""Fields of the news that it finds as REPRIEVE_NOTICE_... in its environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommandConfig:
    """Which program is run with the news of each notice."""

    argv: tuple[str, ...] | None = None
    """The program and its arguments: a list, or a text that is split as a shell would, though none
    runs. Without it nothing is run."""
    limit_s: float = 30.0
    """Longest that a run may take, in seconds; then its whole process group is ended."""


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {"argv": setting_values.arguments, "limit_s": setting_values.seconds}
)


class RunCommand:
    """Runs the program, once for each news; see :class:`aside.Teller`."""

    def __init__(self, config: RunCommandConfig, node: str) -> None:
        self._argv = config.argv or ("",)
        self._limit_s = config.limit_s
        self._node = node
        self._thread = SideThread[Process](NAME)
        self._looking = SideThread[str | None](NAME)
        self.where = self._argv[0]

    async def check(self) -> None:
        """Look for the program; see :class:`aside.Teller`."""
        if not await self._looking.call(lambda: lambda: shutil.which(self._argv[0])):
            raise ActionRefused(f"there is no program {self._argv[0]} that the daemon may run")

    async def tell(self, news: News, /) -> str:
        """Run it once, whatever comes of it.

        Raises:
            ActionRefused: It can't be started, has failed, or has not ended within the limit.
        """
        fields = document(news, self._node)
        given = json.dumps(fields).encode("ascii")
        try:
            async with asyncio.timeout(self._limit_s):
                return await self._run(given, _variables(fields))
        except TimeoutError as error:
            raise ActionRefused(
                f"has not ended within {self._limit_s:g} s, and is killed"
            ) from error
        except OSError as error:
            raise ActionRefused(f"can't be started: {error.strerror}") from error

    async def _run(self, given: bytes, variables: Mapping[str, str]) -> str:
        program = await Program.start(self._argv, self._thread, given, variables)
        try:
            said = await program.output(SAID_LIMIT_BYTES)
            status = await program.ended()
        finally:
            await program.end()
        words = first_line(said.decode(errors="replace")) or program.last_words() or "nothing"
        what = f"ended with status {status}, saying {words}"
        if status != 0:
            raise ActionRefused(what)
        return what


def _variables(fields: Mapping[str, object]) -> dict[str, str]:
    values = {f"REPRIEVE_NOTICE_{name.upper()}": fields[name] for name in VARIABLES}
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
        if value is not None
    }
