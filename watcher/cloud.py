"""Which cloud this machine is in, where the setting ``cloud`` says ``auto``.

Only a metadata server's own positive word counts. What the firmware says (DMI) proves nothing, as
images and mock-ups copy it, but it tells "no cloud" from "a cloud whose server is silent just now".
"""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watcher.config import Config
from watcher.errors import ConfigError, SourceError
from watcher.sources import ROADS
from watcher.sources.road import Road

AUTO = "auto"
NONE = "none"

NOTHING_BESIDE = (
    "with cloud = none only what stands beside a cloud is heard, and nothing does: switch one on "
    "(logind.watch for the machine's own shutdown, command.argv for a program that knows of "
    "notices, kubernetes.watch for the Node, trainer_requests.uids), or let cloud be auto"
)
"""What to do where no cloud is wanted and nothing else is either."""

LIMIT_S = 3.0
"""Longest that the start waits for the proofs, in seconds: no flag of an earlier run is taken up
before. Every server is link-local and answers in milliseconds, if it is there."""

DMI_DIR = Path("/sys/class/dmi/id")

_DMI_LIMIT_CHARS = 256


@dataclass(frozen=True, slots=True)
class Cloud:
    """The cloud whose roads are to be opened, and why it is that one."""

    name: str
    """A road's word for it, or ``none``."""
    why: str
    is_silent: bool = False
    """Whether it has proved nothing, and only the firmware names it: it is heard, blind at first,
    as its server may only not be up yet."""
    unproven: tuple[str, ...] = ()
    """The other clouds that were asked in vain, where none has proved itself."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What became of asking one cloud: a proof, a reason against, or a setting that is wrong."""

    cloud: str
    proof: str | None = None
    why_not: str = "another cloud's answer"
    refused: ConfigError | None = None


async def find_cloud(
    config: Config, roads: Collection[Road[Any]] = tuple(ROADS.values()), dmi_dir: Path = DMI_DIR
) -> Cloud:
    """Return the cloud that is set, or the first that proves itself within LIMIT_S.

    Raises:
        ConfigError: A cloud can't be asked, for a setting that contradicts ``auto``.
    """
    if config.cloud != AUTO:
        return Cloud(config.cloud, "as is set")
    asked = [road for road in roads if road.proof and road.wanted(config.of(road.settings))]
    found: _Asked | None = None
    answers: list[_Asked] = []
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_ask(road, config)) for road in asked]
        for next_one in asyncio.as_completed(tasks):
            answers.append(await next_one)
            if answers[-1].proof is not None:
                found = answers[-1]
                break
        for task in tasks:
            task.cancel()
    if found is not None:
        return Cloud(found.cloud, f"proved by {found.proof}")
    return await _without_proof(asked, answers, dmi_dir)


async def _ask(road: Road[Any], config: Config) -> _Asked:
    cloud = str(road.cloud)
    if road.proof is None:
        return _Asked(cloud)
    try:
        async with asyncio.timeout(LIMIT_S):
            return _Asked(cloud, await road.proof(config.of(road.settings)))
    except TimeoutError:
        return _Asked(cloud, why_not=f"no proof within {LIMIT_S:g} s")
    except SourceError as error:
        return _Asked(cloud, why_not=str(error))
    except ConfigError as error:
        return _Asked(cloud, refused=error)


async def _without_proof(
    roads: Sequence[Road[Any]], answers: Sequence[_Asked], dmi_dir: Path
) -> Cloud:
    for answer in answers:
        if answer.refused is not None:
            raise answer.refused
    why = "; ".join(f"{answer.cloud}: {answer.why_not}" for answer in answers)
    unproven = tuple(answer.cloud for answer in answers)
    for road in roads:
        words = await asyncio.to_thread(_firmware_names, road, dmi_dir)
        if words is not None:
            claim = f"{words} says that this is {road.cloud}, and its metadata server does not"
            others = tuple(name for name in unproven if name != road.cloud)
            return Cloud(str(road.cloud), f"{claim} ({why})", is_silent=True, unproven=others)
    return Cloud(NONE, f"no cloud has proved itself ({why or 'none was asked'})", unproven=unproven)


def _firmware_names(road: Road[Any], dmi_dir: Path) -> str | None:
    """Return which file names the road's cloud, with what is in it; None if none does."""
    for name, pattern in road.dmi.items():
        try:
            with (dmi_dir / name).open(encoding="utf-8", errors="replace") as file:
                words = file.read(_DMI_LIMIT_CHARS).strip()
        except OSError:
            continue
        if re.fullmatch(pattern, words):
            return f"{dmi_dir / name} ({words})"
    return None
