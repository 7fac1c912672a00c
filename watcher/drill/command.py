"""The drill itself: start the job on a simulated node, take the node away, start it again."""

import argparse
import asyncio
import json
import os
import signal
import time
from dataclasses import replace

from watcher import console
from watcher.drill.course import Course
from watcher.drill.node import job, node
from watcher.drill.watching import Watching
from watcher.errors import ConfigError

DESCRIPTION = """\
Would this job survive the loss of its node? Start it on a simulated EC2 instance, announce that the
instance is taken once the job has committed a checkpoint, and start it again. The cloud, the node
and its watcher are simulated on this machine, and the job is real: let it save where it may."""

EPILOG = """\
example

  reprieve-watcher drill -- reprieve-trainer launch train.py --checkpoint-dir /tmp/run-7

The job has to use trainer_hooks, or to write trainers/<id>.json itself (docs/contracts.md). What it
says goes to standard error, the report to standard output.

exit status: 0 the job survives, 1 it does not, 78 there is no job to try"""

_AFTER_WINDOW_S = 10.0
"""Seconds after the node would have been gone in which the job may still end, to say how late."""

_STOP_LIMIT_S = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `drill` takes, and the help that explains it, to ``parser``."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--window", type=float, default=120.0, metavar="S", help="how long ahead it is told (120)")
    limit = "longest wait for a first checkpoint, and for a new step after the new start (600)"
    add("--limit", type=float, default=600.0, metavar="S", help=limit)
    add("--no-resume", action="store_true", help="do not start the job again")
    add("--json", action="store_true", help="print one JSON object")
    add("job", nargs="+", metavar="COMMAND", help="the job, after --")


def run(arguments: argparse.Namespace) -> int:
    """Drill, print the report, and return the exit status.

    Raises:
        ConfigError: The window or the limit makes no sense.
        StartFailed: The job or the node does not start.
    """
    if not (0 < arguments.window <= 3600 and 0 < arguments.limit <= 86_400):
        raise ConfigError("--window has to be up to 3600 s, and --limit up to a day")
    course = asyncio.run(_drilled(arguments))
    if arguments.json:
        console.show(json.dumps(course.document(), indent=2) + "\n")
    else:
        console.show("".join(f"{line}\n" for line in course.lines()))
    return 1 if any(course.failures()) else os.EX_OK


async def _drilled(arguments: argparse.Namespace) -> Course:
    course = Course(window_s=arguments.window, is_resume_asked=not arguments.no_resume)
    course = await _taken(course, arguments)
    if course.committed_step is None or course.code in (0, None) or arguments.no_resume:
        return course
    return await _resumed(course, arguments)


async def _taken(course: Course, arguments: argparse.Namespace) -> Course:
    """Take the node away from under the job."""
    async with node() as here, job(arguments.job, here.run_dir) as process:
        seen = Watching(here.run_dir, process)
        if await seen.until_committed(arguments.limit):
            console.tell("drill: a checkpoint is committed; the node is taken now")
        elif seen.look():
            console.tell(f"drill: no checkpoint in {arguments.limit:g} s; the node is taken now")
        else:
            raise ConfigError(f"the job ended with {process.returncode} before it had a checkpoint")
        notice_at = time.time()
        await here.give_notice(arguments.window)
        await seen.until_ended(arguments.window + _AFTER_WINDOW_S)
        return _course(course, seen, notice_at)


def _course(course: Course, seen: Watching, notice_at: float) -> Course:
    def after(at: float | None) -> float | None:
        """Return seconds after the notice; what lies before it belongs to something else."""
        return None if at is None or at < notice_at else round(at - notice_at, 3)

    trainer = seen.trainer
    course = replace(
        course,
        flag_s=after(seen.flag_at),
        ended_s=after(seen.ended_at),
        code=seen.process.returncode,
    )
    if trainer is None:
        return course
    return replace(
        course,
        noticed_s=after(trainer.figures.noticed_at),
        stopped_s=after(trainer.figures.stopped_at),
        committed_s=after(trainer.committed_at.timestamp() if trainer.committed_at else None),
        step=trainer.step,
        committed_step=trainer.committed_step,
    )


async def _resumed(course: Course, arguments: argparse.Namespace) -> Course:
    """Start the job on another node, and end it when it has done a step that is new."""
    committed_step = course.committed_step or 0
    console.tell("drill: started again on another node")
    async with node() as here, job(arguments.job, here.run_dir) as process:
        seen = Watching(here.run_dir, process)
        began = time.monotonic()
        is_past = await seen.until_past(committed_step, arguments.limit)
        took_s = time.monotonic() - began
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            await seen.until_ended(_STOP_LIMIT_S)
    return replace(
        course,
        resumed_step=seen.first_step,
        resumed_after_s=round(took_s, 3) if is_past else None,
    )
