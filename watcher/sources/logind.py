"""The machine's own shutdown, as systemd-logind announces it, delayed by a lock while it can be.

So an ACPI shutdown, `systemctl poweroff`, and the clouds that say nothing else before they take a
machine (Nebius, Yandex, Oracle) are notices. A lock delays a shutdown by InhibitDelayMaxSec at
most, 5 s unless that is set; without the right to a lock the shutdown is still heard.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial

from watcher.actions.all_saved import AllSaved
from watcher.actions.trainer_look import TrainerLook
from watcher.errors import SourceError
from watcher.health import SourceHealth
from watcher.login_manager import InhibitorRefused, LoginManager, release, require_dbus_fast
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.logind_config import READERS, LogindConfig
from watcher.sources.logind_doctor import checks
from watcher.sources.road import Kinds, Opened, Road, Site
from watcher.sources.told import Told

log = logging.getLogger(__name__)

NAME = "logind"
KEY = "shutdown"
ID = "logind-shutdown"

RELEASE_BEFORE_S = 0.5
"""Seconds before the limit at which the lock is given back at the latest: logind complains of who
keeps one."""

LOOK_EVERY_S = 5.0
"""Seconds between looks at logind, which show that it is there, and what no signal has told."""

_AGAIN_S = 1.0
_WITHOUT = (
    "a shutdown is heard but not delayed. For a daemon that does not run as root polkitd has to run"
)


class Logind:
    """Shutdowns of this machine; see :class:`watcher.sources.base.Source`.

    Args:
        address: The bus's.
        health: Where usable answers are noted, and whether there is a lock.
        now: Reads both clocks.
        adopted: The notice that an earlier run of the daemon has left in force.
    """

    name = NAME
    kinds = frozenset({NoticeKind.SHUTDOWN})

    def __init__(
        self,
        address: str,
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: Iterable[Notice] = (),
    ) -> None:
        self.health = health
        self._address = address
        self._now = now
        self._told = Told(adopted)
        self._manager: LoginManager | None = None
        self._connect_at = 0.0
        self._limit_s = 0.0
        self._lock: int | None = None
        self._lock_of = ""
        self._releasing: asyncio.TimerHandle | None = None

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield a shutdown when it is announced, and when it is called off."""
        while True:
            try:
                news = await self._hear()
            except SourceError as error:
                self._leave()
                error.key = KEY
                raise
            for notice in news:
                yield notice

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing: the lock is kept until all trainers have saved, or until the limit."""

    def is_delaying(self) -> bool:
        """Tell whether a shutdown waits for our lock."""
        return self._releasing is not None and self._lock is not None

    def let_go(self) -> None:
        """Give the lock back: no trainer needs it any more."""
        log.info("all trainers have saved source=%s", NAME)
        self._release()

    def close(self) -> None:
        """Give everything back."""
        self._leave()
        self._release()

    async def _hear(self) -> list[Notice]:
        """Return what the next announcement comes to, or a look when there has been none."""
        if self._manager is None:
            return await self._begin()
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                is_coming = await self._manager.announced()
        except TimeoutError:
            return await self._look(self._manager)
        return self._coming(self._delay()) if is_coming else self._over()

    async def _begin(self) -> list[Notice]:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._connect_at - clock())
        self._connect_at = clock() + _AGAIN_S
        self._manager = await LoginManager.connect(self._address)
        return await self._look(self._manager)

    async def _look(self, manager: LoginManager) -> list[Notice]:
        began = self._now()
        outlook = await manager.look()
        self._limit_s = outlook.limit_s
        self.health.facts["InhibitDelayMaxSec"] = f"{outlook.limit_s:g}"
        if manager.has_announced:
            news = []  # it comes next, and knows since when
        elif outlook.is_preparing:
            self._delay()  # by a lock from before; since when is unknown, so there is no deadline
            news = self._coming(None)
        else:
            news = self._over()
            await self._have_lock(manager)
        now = self._now()
        what = "present" if self._told else "absent"
        took_s = now.boottime_s - began.boottime_s
        if self.health.answered(KEY, what, now, took_s=took_s):
            log.info("source answers source=%s key=%s answer=%s", NAME, KEY, what)
        return news

    def _delay(self) -> Deadline | None:
        """Return until when our lock delays the shutdown that begins now; None without one."""
        if self._lock is None:
            return None
        if self._releasing is None:
            left_s = max(0.0, self._limit_s - RELEASE_BEFORE_S)
            self._releasing = asyncio.get_running_loop().call_later(left_s, self._release)
        return Deadline.after(self._now(), self._limit_s)

    def _coming(self, deadline: Deadline | None) -> list[Notice]:
        """Take in that a shutdown is coming."""
        notice = Notice(
            id=ID,
            kind=NoticeKind.SHUTDOWN,
            source=NAME,
            received=self._now(),
            deadline=deadline,
            detail={"inhibitor": self.health.facts.get("inhibitor", "none")},
        )
        return self._told.heard(notice)

    def _over(self) -> list[Notice]:
        """Take in that none is coming, or that it was called off."""
        if self._releasing is not None:
            self._releasing.cancel()
            self._releasing = None
        return self._told.none()

    async def _have_lock(self, manager: LoginManager) -> None:
        """Hold a lock of the logind that runs; none is given once a shutdown has begun."""
        if self._lock is not None and self._lock_of == manager.owner:
            return
        before, facts = self.health.facts.get("inhibitor"), self.health.facts
        try:
            lock = await manager.inhibit("trainers stop and commit their checkpoints")
        except InhibitorRefused as refusal:
            facts["inhibitor"] = f"refused: {refusal}"
            if before != facts["inhibitor"]:
                log.warning("no inhibitor source=%s why=%s: %s", NAME, refusal, _WITHOUT)
            return
        self._release()
        self._lock, self._lock_of = lock, manager.owner
        facts["inhibitor"] = "held"
        log.info("inhibitor held source=%s limit_s=%g", NAME, self._limit_s)

    def _release(self) -> None:
        if self._releasing is not None:
            self._releasing.cancel()
        lock, self._lock = self._lock, None
        if lock is not None:
            release(lock)
            self.health.facts["inhibitor"] = "released"
            log.info("inhibitor released source=%s", NAME)

    def _leave(self) -> None:
        manager, self._manager = self._manager, None
        self._lock_of = ""  # the next bus gives out the same names
        if manager is not None:
            manager.close()


def wanted(config: LogindConfig) -> Kinds:
    """Return this source if it is switched on.

    Raises:
        ConfigError: Its client is not installed.
    """
    if config.watch == "off":
        return {}
    require_dbus_fast("logind.watch")
    return {NAME: Logind.kinds}


@asynccontextmanager
async def opened(config: LogindConfig, site: Site) -> AsyncIterator[Opened]:
    """Hear logind until the end of the block, and give the lock back there."""
    health = site.health(NAME, (KEY,))
    saved = AllSaved(TrainerLook(site.run_dir, site.boot_id), site.now)
    source = Logind(config.bus_address, health, site.now, site.left_by(NAME))
    letting_go = partial(saved.keep_telling, source.is_delaying, source.let_go)
    try:
        yield Opened(sources=(source,), keepers=(letting_go,))
    finally:
        source.close()


ROAD = Road(
    section=NAME,
    cloud=None,
    settings=LogindConfig,
    readers=READERS,
    wanted=wanted,
    opened=opened,
    checks=checks,
)
