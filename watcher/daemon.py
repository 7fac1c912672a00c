"""The composition root: builds every part from what start.py found, runs them, and ends them."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from watcher.actions.aside import Aside
from watcher.actions.base import Action
from watcher.actions.dry_run import DryRun
from watcher.actions.flag_file import FlagFile
from watcher.actions.flag_v1 import Writer
from watcher.actions.signal_process import SignalProcess
from watcher.actions.signal_targets import Cgroup, PidFile, Unit
from watcher.actions.state_file import StateFile
from watcher.actions.tellers import asked_for
from watcher.actions.trainer_look import TrainerLook
from watcher.cloud import Cloud
from watcher.config import Config
from watcher.faces import openapi
from watcher.faces.notice_face import NoticeFace
from watcher.faces.probes import Probes
from watcher.faces.server import Handler, keep_serving
from watcher.faces.state_view import Sights, StateView
from watcher.faces.trainer_watch import TrainerWatch
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.process import now
from watcher.responder import Afterwards, Means, Responder
from watcher.sdnotify import keep_alive, notify
from watcher.sources.road import Opened, Road, Site
from watcher.state import State
from watcher.supervise import keep_running

log = logging.getLogger(__name__)

DRAIN_LIMIT_S = 2.0
"""Seconds that notices already heard get when the daemon is told to end."""


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
            keepers = [keep_alive, watch.keep, *opened.keepers]
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
            actions.append(SignalProcess(PidFile(settings.pid_file), settings.name))
        if settings.cgroup is not None:
            actions.append(SignalProcess(Cgroup(settings.cgroup), settings.name))
        if settings.unit is not None:
            actions.append(SignalProcess(Unit(settings.unit), settings.name))
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
            "/": view.page,
            openapi.PATH: openapi.openapi,
        }
