"""What the daemon starts from: the cloud, what there is to hear, and what was left before."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from watcher import process
from watcher.actions.flag_start import adopt_flag, prepare_run_dir
from watcher.actions.run_dir_lock import held_alone
from watcher.actions.state_start import adopt_state
from watcher.cloud import NONE, NOTHING_BESIDE, Cloud, find_cloud
from watcher.config import Config
from watcher.daemon import Daemon
from watcher.errors import ConfigError
from watcher.memory_lock import stay_in_memory
from watcher.notice import Notice
from watcher.process import stop_event
from watcher.sources import ROADS
from watcher.sources.road import Kinds, Road

log = logging.getLogger(__name__)


def run(config: Config) -> None:
    """Protect this node until SIGTERM, SIGINT or SIGHUP; a second one ends the process at once.

    Raises:
        ConfigError: There is nothing to hear, or the run directory or boot id can't be used.
        StartFailed: The run directory can't be used at the moment, or holds a notice of a cloud
            that proves nothing now.
    """
    boot_id = _boot_id()
    if why := stay_in_memory():
        log.info("memory may be paged out, and a notice then takes longer why=%s", why)
    with held_alone(config.run_dir):
        prepare_run_dir(config.run_dir)
        asyncio.run(_protect(config, boot_id))


async def _protect(config: Config, boot_id: str) -> None:
    stop = stop_event()
    cloud = await find_cloud(config)
    roads = roads_of(config, cloud)
    _say(config, cloud)
    unheard = _kinds(config, [road for road in ROADS.values() if road.cloud in cloud.unproven])
    # Before anything is heard, and before READY: readers may trust a flag from then on.
    adopted = await asyncio.to_thread(
        _left, config.run_dir, boot_id, _kinds(config, roads), unheard
    )
    await Daemon(config, roads, boot_id, adopted, cloud).serve(stop)


def roads_of(config: Config, cloud: Cloud) -> list[Road[Any]]:
    """Return the roads that are to be opened: the cloud's, and what stands beside any cloud.

    Raises:
        ConfigError: There is none, or one lacks what it needs.
    """
    mine = [road for road in ROADS.values() if road.cloud in (None, cloud.name)]
    wanted = [road for road in mine if road.wanted(config.of(road.settings))]
    if not wanted:
        raise ConfigError(f"there is nothing to hear: {_why_nothing(config, cloud)}")
    protects = [road for road in mine if road.protects(config.of(road.settings))]
    return [road for road in mine if road in wanted or road in protects]


def _why_nothing(config: Config, cloud: Cloud) -> str:
    """Say what keeps every source from being heard, and what to do about it."""
    if config.cloud == NONE:
        return NOTHING_BESIDE
    if cloud.name == NONE:
        return (
            f"{cloud.why}; and nothing beside a cloud is switched on. Name the cloud with --cloud "
            "or REPRIEVE_CLOUD; `reprieve-watcher doctor` says more"
        )
    return (
        f"cloud = {cloud.name}, {cloud.why}; and its sources are switched off "
        f"({cloud.name}.metadata = off, for AWS AWS_EC2_METADATA_DISABLED too). Set "
        f"REPRIEVE_{cloud.name.upper()}_METADATA=on if that was not meant for this"
    )


def _say(config: Config, cloud: Cloud) -> None:
    is_surprising = cloud.is_silent or cloud.name == NONE != config.cloud
    level = logging.WARNING if is_surprising else logging.INFO
    log.log(level, "cloud cloud=%s why=%s", cloud.name, cloud.why)
    if config.dry_run:
        log.warning("dry run: no trainer will be told of a notice, and nothing else will be done")


def _left(
    run_dir: Path, boot_id: str, kinds: Kinds, unheard: Collection[str]
) -> tuple[Notice, ...]:
    """Return what an earlier run has left in force or planned, what the flag shows first."""
    flag = adopt_flag(run_dir, boot_id, kinds, unheard)
    kept = adopt_state(run_dir, boot_id, kinds, unheard)
    return tuple({one.id: one for one in (*((flag,) if flag else ()), *kept)}.values())


def _kinds(config: Config, roads: Sequence[Road[Any]]) -> Kinds:
    """Return the sources that will be heard, with the kinds that each can tell of."""
    return dict(
        chain.from_iterable(road.wanted(config.of(road.settings)).items() for road in roads)
    )


def _boot_id() -> str:
    try:
        return process.boot_id()
    except OSError as error:
        raise ConfigError(
            f"{process.BOOT_ID}: {error.strerror}. A flag is void without the boot id; under "
            "systemd, ProcSubset=pid hides it"
        ) from error
