"""The drill itself: start the job on a simulated node, take the node away, start it again."""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from watcher import console
from watcher.config import Config
from watcher.drill import here, history
from watcher.drill.asking import ask
from watcher.drill.course import Course
from watcher.drill.node import job, node
from watcher.drill.picture import picture
from watcher.drill.picture_png import draw
from watcher.drill.watching import Watching
from watcher.errors import ConfigError, StartFailed
from watcher.sources.drill_config import DrillConfig

DESCRIPTION = """\
Would this job survive the loss of its node? Start it on a simulated EC2 instance, announce that the
instance is taken once the job has committed a checkpoint, and start it again. The cloud, the node
and its watcher are simulated on this machine, and the job is real: let it save where it may.

Without a COMMAND the trainers that run on this node are drilled, by its running daemon: they stop
as on a notice, and nothing is done to the node. Only root may ask for that (drill.socket). With
--wait somebody else begins it, by the annotation reprieve.dev/drill of the Node in Kubernetes."""

EPILOG = """\
example

  reprieve-watcher drill -- reprieve-trainer launch train.py --checkpoint-dir /tmp/run-7
  reprieve-watcher drill --config /etc/reprieve/watcher.toml --history drills.jsonl
  reprieve-watcher drill clear --config /etc/reprieve/watcher.toml
  reprieve-watcher drill history --history drills.jsonl
  kubectl exec POD -- reprieve-watcher drill --wait --json | reprieve-watcher drill keep --history F

The job has to use trainer_hooks, or to write trainers/<id>.json itself (docs/contracts.md). What it
says goes to standard error, the report to standard output.

exit status: 0 the job survives, 1 it does not, 78 there is no job to try"""

_AFTER_WINDOW_S = 10.0
"""Seconds after the node would have been gone in which the job may still end, to say how late."""

_STOP_LIMIT_S = 120.0
_REPORT_LIMIT_CHARS = 64 * 1024


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
    add("--wait", action="store_true", help="follow a drill that the Node's annotation begins")
    add("--json", action="store_true", help="print one JSON object")
    add("--config", type=Path, metavar="FILE", help="TOML file of the daemon on this node")
    add("--history", type=Path, metavar="FILE", help="append the drill, or read what is there")
    drawn = "draw the course: .html, or .png with the extra [plot]"
    add("--picture", type=_picture_path, metavar="FILE", help=drawn)
    job = "the job, after --; or clear, which ends the drill on this node; or history; or keep"
    add("job", nargs="*", metavar="COMMAND", help=job)


def _picture_path(text: str) -> Path:
    """Read where a picture is to go, before anything is drilled; else argparse complains."""
    path = Path(text)
    if path.suffix not in {".png", ".html"}:
        raise argparse.ArgumentTypeError(f"a picture is .png or .html, not {path.name!r}")
    return path


def run(arguments: argparse.Namespace, config: Config) -> int:
    """Drill, print the report, and return the exit status.

    Raises:
        ConfigError: The window or the limit makes no sense, or there is nothing to drill.
        StartFailed: The job, the node or the drill does not start, or can't be kept.
    """
    if not (0 < arguments.window <= 3600 and 0 < arguments.limit <= 86_400):
        raise ConfigError("--window has to be up to 3600 s, and --limit up to a day")
    if arguments.job == ["clear"]:
        return _clear(config)
    if arguments.job == ["history"]:
        return _show_history(arguments.history)
    if arguments.wait and arguments.job:
        raise ConfigError("--wait follows the trainers on this node, and takes no COMMAND")
    if arguments.job == ["keep"]:
        node, course, at = history.told(sys.stdin.read(_REPORT_LIMIT_CHARS))
    else:
        course = asyncio.run(_drilled(arguments) if arguments.job else _here(arguments, config))
        node, at = config.node, datetime.now(UTC)
    _keep(course, arguments, node, at)
    if arguments.json:
        console.show(json.dumps(history.document(node, course, at), indent=2) + "\n")
    else:
        console.show("".join(f"{line}\n" for line in course.lines()))
    return 1 if any(course.failures()) else os.EX_OK


def _clear(config: Config) -> int:
    said = ask(config.of(DrillConfig).socket, ask="clear")
    console.show("the drill is over\n" if said.get("cleared") else "there was no drill\n")
    return os.EX_OK


def _show_history(path: Path | None) -> int:
    if path is None:
        raise ConfigError("--history FILE says where the drills are kept")
    drills, odd = history.read(path)
    console.show("".join(f"{line}\n" for line in history.table(drills)))
    if odd:
        console.tell(f"drill: {odd} lines of {path} are no drills")
    return os.EX_OK


def _keep(course: Course, arguments: argparse.Namespace, node: str, at: datetime) -> None:
    """Write what is to be kept; the picture has the drills before it, and this one, in it."""
    past: list[history.Past] = []
    if arguments.history is not None:
        history.add(arguments.history, node, course, at)
        past, _ = history.read(arguments.history)
    if arguments.picture is not None:
        try:
            if arguments.picture.suffix == ".png":
                draw(arguments.picture, course, node, past)
            else:
                arguments.picture.write_text(picture(course, node, past), encoding="utf-8")
        except OSError as error:
            raise StartFailed(f"{arguments.picture}: {error.strerror}") from error


async def _here(arguments: argparse.Namespace, config: Config) -> Course:
    terms = here.Terms(
        run_dir=config.run_dir,
        socket=config.of(DrillConfig).socket,
        window_s=arguments.window,
        limit_s=arguments.limit,
        is_resume_asked=not arguments.no_resume,
        is_awaited=arguments.wait,
        node=config.node,
    )
    return await here.drilled(terms)


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
