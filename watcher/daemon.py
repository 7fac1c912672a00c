"""The composition root: builds every part from the settings, runs them, and ends them in order."""

import asyncio
import contextlib
import logging
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

from watcher.actions.base import Action
from watcher.actions.flag_file import FlagFile, adopt_flag, prepare_run_dir
from watcher.actions.flag_v1 import Writer
from watcher.actions.signal_process import SignalProcess
from watcher.config import Config
from watcher.errors import ConfigError
from watcher.faces.probes import Probes
from watcher.faces.server import Handler, keep_serving
from watcher.faces.state_view import StateView
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Moment, Notice
from watcher.responder import Responder
from watcher.sdnotify import notify
from watcher.sources import SOURCES
from watcher.state import State
from watcher.supervise import keep_running

log = logging.getLogger(__name__)

DRAIN_LIMIT_S = 2.0
"""Seconds that notices already heard get when the daemon is told to end."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def run(config: Config) -> None:
    """Protect this node until SIGTERM or SIGINT; a second one ends the process at once.

    Raises:
        ConfigError: There is nothing to hear, or the run directory or boot id can't be used.
    """
    if config.aws.metadata == "off":
        raise ConfigError(
            "the metadata service is switched off (aws.metadata, AWS_EC2_METADATA_DISABLED), so "
            "there is nothing to hear; set REPRIEVE_AWS_METADATA=on if that was not meant for this"
        )
    boot_id = _boot_id()
    prepare_run_dir(config.run_dir)
    # Before anything is heard, and before READY: readers may trust a flag from then on.
    adopted = adopt_flag(config.run_dir, boot_id, SOURCES[config.cloud].name)
    asyncio.run(Daemon(config, boot_id, adopted).serve())


def now() -> Moment:
    """Read both clocks."""
    return Moment(datetime.now(UTC), time.clock_gettime(time.CLOCK_BOOTTIME))


class Daemon:
    """One run of the daemon: its parts, and the order in which they start and end."""

    def __init__(self, config: Config, boot_id: str, adopted: Notice | None) -> None:
        self._config = config
        self._writer = Writer(config.node, boot_id)
        self._adopted = adopted
        self._metrics = Metrics()
        self._state = State()
        self._source_type = SOURCES[config.cloud]
        name, keys = self._source_type.name, self._source_type.keys
        self._health = SourceHealth(name, keys, now(), self._metrics)

    async def serve(self) -> None:
        """Run until told to end, then end in order: sources, inbox, responder, faces."""
        stop = _stop_event()
        inbox: asyncio.Queue[Notice] = asyncio.Queue()
        adopted = (self._adopted,) if self._adopted else ()
        responder = Responder(self._actions(), self._state, self._metrics, now, lambda _: None)
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with (
            self._client() as spot_client,
            self._client() as client,
            asyncio.TaskGroup() as group,
        ):
            for notice in adopted:
                inbox.put_nowait(notice)
            answering = group.create_task(responder.run(inbox))
            source = self._source_type(
                (spot_client, client),
                self._health,
                now,
                adopted,
                may_use_v1=self._config.aws.metadata_v1 == "on",
            )
            hearing = [group.create_task(keep_running(lane, inbox, now)) for lane in source.lanes]
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
            answering.cancel()
            showing.cancel()
        log.info("stopped")

    def _client(self) -> HttpClient:
        aws = self._config.aws
        return HttpClient(aws.metadata_endpoint, aws.metadata_limit_s)

    def _actions(self) -> dict[str, Action]:
        settings = self._config.signal
        run_dir = self._config.run_dir
        actions: list[Action] = [FlagFile(run_dir, self._writer, self._state, self._metrics, now)]
        if settings.pid_file is not None:
            actions.append(SignalProcess(settings.pid_file, settings.name))
        return {action.name: action for action in actions}

    def _routes(self) -> dict[str, Handler]:
        healths = (self._health,)
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


def _stop_event() -> asyncio.Event:
    """Return an event that the first SIGTERM or SIGINT sets; the next one ends the process."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def on_first() -> None:
        stop.set()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, on_first)
    return stop
