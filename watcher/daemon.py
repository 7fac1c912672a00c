"""The composition root: builds every part from the settings, runs them, and ends them in order."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from watcher.actions.aside import Aside
from watcher.actions.base import Action
from watcher.actions.dry_run import DryRun
from watcher.actions.flag_file import FlagFile
from watcher.actions.flag_start import adopt_flag, prepare_run_dir
from watcher.actions.flag_v1 import Writer
from watcher.actions.run_dir_lock import held_alone
from watcher.actions.signal_process import SignalProcess
from watcher.actions.state_file import StateFile
from watcher.actions.state_start import adopt_state
from watcher.actions.tellers import asked_for
from watcher.actions.trainer_look import TrainerLook
from watcher.cloud import NONE, Cloud, find_cloud
from watcher.config import Config
from watcher.errors import ConfigError
from watcher.faces.notice_face import NoticeFace
from watcher.faces.probes import Probes
from watcher.faces.server import Handler, keep_serving
from watcher.faces.state_view import Sights, StateView
from watcher.faces.trainer_watch import TrainerWatch
from watcher.memory_lock import stay_in_memory
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.process import now, stop_event
from watcher.responder import Afterwards, Means, Responder
from watcher.sdnotify import notify
from watcher.sources import ROADS
from watcher.sources.road import Kinds, Opened, Road, Site
from watcher.state import State
from watcher.supervise import keep_running

log = logging.getLogger(__name__)

DRAIN_LIMIT_S = 2.0
"""Seconds that notices already heard get when the daemon is told to end."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


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
    roads = _roads(config, cloud)
    _say(config, cloud)
    unheard = _kinds(config, [road for road in ROADS.values() if road.cloud in cloud.unproven])
    # Before anything is heard, and before READY: readers may trust a flag from then on.
    adopted = await asyncio.to_thread(
        _left, config.run_dir, boot_id, _kinds(config, roads), unheard
    )
    await Daemon(config, roads, boot_id, adopted, cloud).serve(stop)


class Daemon:
    """One run of the daemon: its parts, and the order in which they start and end."""

    def __init__(
        self,
        config: Config,
        roads: Sequence[Road[Any]],
        boot_id: str,
        adopted: tuple[Notice, ...],
        cloud: Cloud,
    ) -> None:
        self._config = config
        self._roads = roads
        self._writer = Writer(config.node, boot_id)
        self._look = TrainerLook(config.run_dir, boot_id)
        self._adopted = adopted
        self._cloud = cloud
        self._metrics = Metrics()
        self._metrics.tell_version()
        self._state = State()
        edges = [name for road in roads for name in road.edges]
        self._kept = StateFile(config.run_dir, boot_id, self._state, edges)

    async def serve(self, stop: asyncio.Event) -> None:
        """Run until told to end, then end in order: sources, inbox, responder, faces."""
        inbox: asyncio.Queue[Notice] = asyncio.Queue()
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with self._opened() as opened, asyncio.TaskGroup() as group:
            for notice in self._adopted:
                inbox.put_nowait(notice)
            parts = (self._config.run_dir, self._writer, self._state, self._metrics, now)
            flag = await asyncio.to_thread(FlagFile, *parts)  # it reserves space
            asides = asked_for(self._config, self._metrics, now)
            actions = self._actions(flag, asides, opened)
            afterwards = Afterwards(self._kept.keep, opened.acknowledge)
            means = Means(self._config.policy, actions)
            responder = Responder(means, self._state, self._metrics, now, afterwards)
            answering = group.create_task(responder.run(inbox))
            hearing = [group.create_task(keep_running(one, inbox, now)) for one in opened.sources]
            watch = TrainerWatch(self._look, self._state, self._metrics, now)
            keepers = [watch.keep, *opened.keepers]
            if not self._config.dry_run:
                face = NoticeFace(flag.word, self._state, opened.healths, self._adopted, now)
                told = face.keepers(self._config.faces.notice_listen)
                keepers = [flag.keep, *keepers, *told, *(aside.keep for aside in asides)]
            keeping = [group.create_task(keep()) for keep in keepers]
            listen = self._config.faces.listen
            showing = group.create_task(keep_serving(self._routes(opened), listen, bound))
            log.info("ready listen=%s node=%s", await bound, self._config.node)
            # What is here now stays: a full collection of it takes longer than a notice may.
            gc.collect()
            gc.freeze()
            notify("READY=1")
            await stop.wait()
            log.info("stopping")
            notify("STOPPING=1")
            for task in hearing:
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_LIMIT_S):
                    await inbox.join()
            for task in (answering, *keeping, showing):
                task.cancel()
        log.info("stopped")

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Opened]:
        """Open every road, as one, until the block ends."""
        site = Site(
            self._metrics,
            now,
            self._state,
            self._adopted,
            self._config.node,
            self._writer.boot_id,
            self._config.run_dir,
            self._config.drain,
            policy=self._config.policy,
            is_dry_run=self._config.dry_run,
        )
        async with AsyncExitStack() as stack:
            every = [
                await stack.enter_async_context(road.opened(self._config.of(road.settings), site))
                for road in self._roads
            ]
            yield Opened(
                sources=[source for opened in every for source in opened.sources],
                keepers=[keep for opened in every for keep in opened.keepers],
                actions=[action for opened in every for action in opened.actions],
                board=next((opened.board for opened in every if opened.board), None),
            )

    def _actions(
        self, flag: FlagFile, asides: Sequence[Aside], opened: Opened
    ) -> dict[str, Action]:
        settings = self._config.signal
        actions: list[Action] = [flag, *asides]
        if settings.pid_file is not None:
            actions.append(SignalProcess(settings.pid_file, settings.name))
        if self._config.dry_run:
            actions = [DryRun(action) for action in actions]
        return {action.name: action for action in (*actions, *opened.actions)}

    def _routes(self, opened: Opened) -> dict[str, Handler]:
        limit_s = self._config.faces.blind_limit_s
        probes = Probes(opened.healths, self._metrics, limit_s, now)
        sights = Sights(
            healths=opened.healths, blind_limit_s=limit_s, board=opened.board, look=self._look
        )
        view = StateView(self._config.node, self._cloud, sights, self._state, now)
        return {
            "/healthz": probes.healthz,
            "/readyz": probes.readyz,
            "/metrics": probes.metrics,
            "/v1/state": view.state,
        }


def _roads(config: Config, cloud: Cloud) -> list[Road[Any]]:
    """Return the roads that are to be opened: the cloud's, and what stands beside any cloud.

    Raises:
        ConfigError: There is none, or one lacks what it needs.
    """
    mine = [road for road in ROADS.values() if road.cloud in (None, cloud.name)]
    wanted = [road for road in mine if road.wanted(config.of(road.settings))]
    if not wanted:
        raise ConfigError(
            f"there is nothing to hear: cloud = {cloud.name}, {cloud.why}; and every other source "
            "is switched off (for AWS: aws.metadata, AWS_EC2_METADATA_DISABLED). Name the cloud "
            "with --cloud or REPRIEVE_CLOUD, or set REPRIEVE_AWS_METADATA=on if that was not meant "
            "for this"
        )
    protects = [road for road in mine if road.protects(config.of(road.settings))]
    return [road for road in mine if road in wanted or road in protects]


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
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ConfigError(
            f"{_BOOT_ID}: {error.strerror}. A flag is void without the boot id; under systemd, "
            "ProcSubset=pid hides it"
        ) from error
