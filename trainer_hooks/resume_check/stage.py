"""A stage: processes are started on it, watched while something is awaited, and always ended."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")

LOOK_EVERY_S = 0.05

ENDING_LIMIT_S = 10.0
"""What a process gets between SIGTERM and SIGKILL; a job commits its save in flight meanwhile."""

KILLING_LIMIT_S = 5.0

TOKEN_VARIABLE = "STAGED_BY"  # noqa: S105 - a variable's name, not a secret
"""Inherited by ranks and their workers: it finds them when the process between has died."""


class Failed(Exception):  # noqa: N818 - says what happened to a part; it is no bug of ours
    """Raised when a part has failed, or keeps us waiting; ``log`` is that part's, if any."""

    def __init__(self, why: str, log: Path | None = None) -> None:
        super().__init__(why)
        self.log = log


class Child:
    """One process, with all that it says in its log."""

    def __init__(
        self, name: str, process: subprocess.Popen[bytes], log: Path, *, ends_with: int | None
    ) -> None:
        self.name = name
        self.log = log
        self._process = process
        self._ends_with = ends_with
        self._is_dismissed = False

    @property
    def has_ended(self) -> bool:
        """True once it has ended as expected."""
        code = self._process.poll()
        return code is not None and code == self._ends_with

    def check(self, what: str) -> None:
        """See that it runs, has ended as expected, or was told to end.

        Raises:
            Failed: It has ended in another way, while ``what`` was awaited.
        """
        code = self._process.poll()
        if code is None or code == self._ends_with or self._is_dismissed:
            return
        instead = "" if self._ends_with is None else f" instead of {self._ends_with}"
        raise Failed(
            f"{self.name} ended with code {code}{instead}, while {what} was awaited", self.log
        )

    def dismiss(self) -> None:
        """Ask it to end."""
        self._is_dismissed = True
        self._process.terminate()

    def ask_to_stop(self) -> None:
        """Send SIGTERM, as a platform does; how it ends then still counts."""
        self._process.terminate()

    def outlive(self, until: float) -> None:
        """Wait for its end until an instant of the monotonic clock, then kill it."""
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(KILLING_LIMIT_S)


class Stage:
    """Starts processes, and ends them with all that they have started when it is left.

    Args:
        on_tick: Called about 20 times a second while something is awaited.
    """

    def __init__(self, on_tick: Callable[[], None]) -> None:
        self._on_tick = on_tick
        self._children: list[Child] = []
        self._token = secrets.token_hex(8)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End everything that was started; a second Ctrl-C meanwhile ends it at once."""
        try:
            self.end(*self._children)
        finally:
            self._kill_what_is_left()

    def start(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        variables: Mapping[str, str],
        ends_with: int | None = None,
    ) -> Child:
        """Start a process in a session of its own: Ctrl-C in the terminal reaches us alone.

        Args:
            name: What people call it.
            command: The program and its arguments.
            log: Gets stdout and stderr.
            variables: For its environment, which has nothing else of Reprieve's.
            ends_with: The exit code it ends with by itself; None if it never does.
        """
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("REPRIEVE_")}
        with log.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603 - the project's own programs
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**inherited, **variables, TOKEN_VARIABLE: self._token},
                start_new_session=True,
            )
        child = Child(name, process, log, ends_with=ends_with)
        self._children.append(child)
        return child

    def wait(self, child: Child, what: str, look: Callable[[], T | None], limit_s: float) -> T:
        """Return what ``look`` finds, as soon as that is anything.

        Args:
            child: Whose work is awaited.
            what: What it is to do, for people.
            look: Returns None as long as there is nothing to be found.
            limit_s: How long that may take.

        Raises:
            Failed: A process, this or another, has ended unexpectedly, or the limit is over.
        """
        end = time.monotonic() + limit_s
        while True:
            self._on_tick()
            found = look()
            if found is not None:
                return found
            for one in self._children:
                one.check(what)
            if time.monotonic() > end:
                raise Failed(f"{what} did not come from {child.name} in {limit_s:.0f} s", child.log)
            time.sleep(LOOK_EVERY_S)

    def end(self, *children: Child) -> None:
        """End processes: SIGTERM to all, then SIGKILL to those that take longer than the limit."""
        for child in children:
            child.dismiss()
        until = time.monotonic() + ENDING_LIMIT_S
        for child in children:
            child.outlive(until)

    def kill(self) -> None:
        """Kill all that was started, at once and unasked, as the loss of its machine does."""
        self._kill_what_is_left()

    def _kill_what_is_left(self) -> None:
        """Kill what a process has left behind; torchrun gives each rank a session of its own."""
        end = time.monotonic() + KILLING_LIMIT_S
        while (pids := bearers(self._token)) and time.monotonic() < end:
            for pid in pids:
                _kill(pid)
            time.sleep(LOOK_EVERY_S)


def bearers(token: str) -> list[int]:
    """Return the live processes that have a stage's token in their environment."""
    wanted = f"{TOKEN_VARIABLE}={token}".encode()
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and wanted in _environment(entry)
    ]


def _environment(entry: Path) -> list[bytes]:
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # it has ended meanwhile, or is another user's


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
