"""A drill on this very node, by its running daemon, with the trainers that run on it."""

import asyncio
import time
from dataclasses import dataclass, replace
from pathlib import Path

from watcher import console
from watcher.actions.flag_file import FLAG_NAME
from watcher.drill.asking import ask
from watcher.drill.awaited import awaited
from watcher.drill.course import Course
from watcher.errors import ConfigError
from watcher.kube.keys import DRILL
from watcher.process import boot_id, now
from watcher.trainers import Trainer, TrainerState, read_trainers

LOOK_S = 0.05
_AFTER_WINDOW_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is asked for.

    Attributes:
        run_dir: The run directory of the daemon.
        socket: Where it is asked.
        window_s: How long ahead the node's end is announced.
        limit_s: Longest wait for a new step after it.
        is_resume_asked: Whether somebody will start the trainers again.
        is_awaited: Whether somebody else begins it, and it is only to be followed.
        node: This machine's name in the cluster.
    """

    run_dir: Path
    socket: Path | None
    window_s: float
    limit_s: float
    is_resume_asked: bool
    is_awaited: bool = False
    node: str = ""


async def drilled(terms: Terms) -> Course:
    """Drill the trainers on this node, and return how the slowest of them has gone.

    Raises:
        ConfigError: There is nobody to drill, or no way to ask.
        StartFailed: The daemon refuses, or does not answer.
    """
    seen = _Seen(terms.run_dir)
    if not seen.alive():
        raise ConfigError(f"no trainer on this node says that it is at work ({terms.run_dir})")
    asked_at, window_s = await (_followed(terms, seen) if terms.is_awaited else _asked(terms))
    course = Course(window_s=window_s, is_resume_asked=terms.is_resume_asked, is_code_seen=False)
    number = len(seen.before)
    console.tell(f"drill: begun on this node, with {number} trainer{'s' * (number != 1)}")
    end = time.monotonic() + window_s + _AFTER_WINDOW_S
    while time.monotonic() < end and not seen.have_all_left():  # noqa: ASYNC110 - files, no event
        await asyncio.sleep(LOOK_S)
    course = seen.course(course, asked_at)
    if not terms.is_resume_asked or course.committed_step is None:
        return course
    return await _resumed(course, seen, terms.limit_s)


async def _asked(terms: Terms) -> tuple[float, float]:
    """Begin it; return when that was, in Unix time, and its window."""
    asked_at = time.time()
    await asyncio.to_thread(ask, terms.socket, ask="drill", window_s=terms.window_s)
    return asked_at, terms.window_s


async def _followed(terms: Terms, seen: "_Seen") -> tuple[float, float]:
    """Wait for it; return when it was heard, and its window."""
    value = f"$(date -u +%FT%TZ)/{terms.window_s:.0f}"
    console.tell(
        f"drill: waiting for one; to begin it, as one of the group that may:\n"
        f"  kubectl annotate node {terms.node} --overwrite {DRILL}={value}"
    )
    notice = await awaited(terms.run_dir, boot_id(), terms.limit_s, seen.alive)
    ends, received = notice.deadline, notice.received
    window_s = ends.boottime_s - received.boottime_s if ends else terms.window_s
    return received.wall.timestamp(), round(window_s, 3)


async def _resumed(course: Course, seen: "_Seen", limit_s: float) -> Course:
    console.tell("drill: waiting until they are started again and have done a step that is new")
    began = time.monotonic()
    while time.monotonic() < began + limit_s:
        step = seen.newcomers_step()
        if step is not None and step > (course.committed_step or 0):
            return replace(
                course,
                resumed_step=seen.first_step,
                resumed_after_s=round(time.monotonic() - began, 3),
            )
        await asyncio.sleep(LOOK_S)
    return course


class _Seen:
    """What the trainers have said since it was begun to look."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._boot_id = boot_id()
        self._left_at: dict[str, float] = {}
        self._flag_at: float | None = None
        self.first_step: int | None = None
        self.before: dict[str, Trainer] = {}

    def alive(self) -> bool:
        """Note who is at work now, and tell whether anybody is."""
        now_s = now().boottime_s
        self.before = {one.id: one for one in self._read() if one.is_at_work(now_s)}
        return bool(self.before)

    def have_all_left(self) -> bool:
        """Look once, and tell whether all that were at work have left."""
        if self._flag_at is None:
            try:
                self._flag_at = (self._run_dir / FLAG_NAME).stat().st_mtime
            except OSError:
                self._flag_at = None
        now_s = now().boottime_s
        found = {one.id: one for one in self._read()}
        for name in self.before:
            one = found.get(name)
            if one is not None:
                self.before[name] = one
            has_left = one is None or one.state is TrainerState.EXITED or not one.is_alive(now_s)
            if has_left and name not in self._left_at:
                self._left_at[name] = time.time()
        return self._left_at.keys() >= self.before.keys()

    def newcomers_step(self) -> int | None:
        """Return how far those have come that were started since, the one that is last."""
        now_s = now().boottime_s
        steps = [one.step for one in self._read() if one.id not in self.before and one.step > 0]
        steps = steps if any(one.is_at_work(now_s) for one in self._read()) else []
        if steps and self.first_step is None:
            self.first_step = min(steps)
        return min(steps, default=None)

    def course(self, course: Course, asked_at: float) -> Course:
        """Return how it has gone with whoever was last to commit."""

        def after(at: float | None) -> float | None:
            return None if at is None or at < asked_at else round(at - asked_at, 3)

        def committed_s(one: Trainer) -> float:
            at = after(one.committed_at.timestamp() if one.committed_at else None)
            return float("inf") if at is None else at

        one = max(self.before.values(), key=committed_s)
        return replace(
            course,
            flag_s=after(self._flag_at),
            noticed_s=after(one.figures.noticed_at),
            stopped_s=after(one.figures.stopped_at),
            committed_s=after(one.committed_at.timestamp() if one.committed_at else None),
            ended_s=after(self._left_at.get(one.id)),
            step=one.step,
            committed_step=one.committed_step,
        )

    def _read(self) -> tuple[Trainer, ...]:
        return read_trainers(self._run_dir, self._boot_id).found
