"""The composition root: builds every part from the settings, runs them, and ends them in order."""

import asyncio
import contextlib
import logging
from pathlib import Path

from watcher.actions.base import Action
from watcher.actions.flag_file import FlagFile
from watcher.actions.flag_start import adopt_flag, prepare_run_dir
from watcher.actions.flag_v1 import Writer
from watcher.actions.lifecycle_hook import CompleteLifecycleHook
from watcher.actions.signal_process import SignalProcess
from watcher.aws.autoscaling import AutoScaling
from watcher.aws.sqs import region_of
from watcher.config import Config
from watcher.errors import ConfigError
from watcher.faces.probes import Probes
from watcher.faces.server import Handler, keep_serving
from watcher.faces.state_view import StateView
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.process import now, stop_event
from watcher.responder import Responder
from watcher.sdnotify import notify
from watcher.sources.aws import AwsRoads, enabled
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
        StartFailed: The run directory can't be used at the moment.
    """
    sources = enabled(config.aws)
    boot_id = _boot_id()
    prepare_run_dir(config.run_dir)
    # Before anything is heard, and before READY: readers may trust a flag from then on.
    adopted = adopt_flag(config.run_dir, boot_id, sources)
    asyncio.run(Daemon(config, boot_id, adopted).serve())


class Daemon:
    """One run of the daemon: its parts, and the order in which they start and end."""

    def __init__(self, config: Config, boot_id: str, adopted: Notice | None) -> None:
        self._config = config
        self._writer = Writer(config.node, boot_id)
        self._adopted = (adopted,) if adopted else ()
        self._metrics = Metrics()
        self._state = State()
        self._roads = AwsRoads(config.aws, self._metrics, now, self._adopted)

    async def serve(self) -> None:
        """Run until told to end, then end in order: sources, inbox, responder, faces."""
        stop = stop_event()
        inbox: asyncio.Queue[Notice] = asyncio.Queue()
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with self._roads as roads, asyncio.TaskGroup() as group:
            for notice in self._adopted:
                inbox.put_nowait(notice)
            actions = self._actions()
            responder = Responder(actions, self._state, self._metrics, now, roads.acknowledge)
            answering = group.create_task(responder.run(inbox))
            hearing = [group.create_task(keep_running(one, inbox, now)) for one in roads.sources]
            keeping = [group.create_task(keep()) for keep in roads.keepers]
            listen = self._config.faces.listen
            showing = group.create_task(keep_serving(self._routes(), listen, bound))
            log.info("ready listen=%s node=%s", await bound, self._config.node)
            notify("READY=1")
            await stop.wait()
            log.info("stopping")
            notify("STOPPING=1")
            for task in hearing:
                task.cancel()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_LIMIT_S):
                    await inbox.join()
            for task in (answering, *keeping, showing):
                task.cancel()
        log.info("stopped")

    def _actions(self) -> dict[str, Action]:
        settings = self._config.signal
        run_dir = self._config.run_dir
        actions: list[Action] = [FlagFile(run_dir, self._writer, self._state, self._metrics, now)]
        if settings.pid_file is not None:
            actions.append(SignalProcess(settings.pid_file, settings.name))
        if (url := self._config.aws.queue_url) is not None:
            groups = AutoScaling(region_of(url))
            actions.append(CompleteLifecycleHook(self._roads.hooks, groups, self._state, now))
        return {action.name: action for action in actions}

    def _routes(self) -> dict[str, Handler]:
        healths = self._roads.healths
        probes = Probes(healths, self._metrics, self._config.faces.blind_limit_s, now)
        view = StateView(self._config.node, healths, self._state, now)
        return {
            "/healthz": probes.healthz,
            "/readyz": probes.readyz,
            "/metrics": probes.metrics,
            "/v1/state": view.state,
        }


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ConfigError(
            f"{_BOOT_ID}: {error.strerror}. A flag is void without the boot id; under systemd, "
            "ProcSubset=pid hides it"
        ) from error
