"""systemd-logind over D-Bus: is the machine about to shut down, and a lock that delays it.

The only place that knows dbus-fast, which is imported when a connection is made.

Source: org.freedesktop.login1(5), "Inhibitor locks" (both systemd.io, read 2026-11-30).
"""

import asyncio
import contextlib
import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from watcher.errors import ConfigError, SourceMalformed, SourceUnavailable

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

SYSTEM_BUS = "unix:path=/run/dbus/system_bus_socket"

CALL_LIMIT_S = 2.0
"""Longest that an answer is waited for, in seconds; both ends are on this machine."""

_NAME = "org.freedesktop.login1"
_PATH = "/org/freedesktop/login1"
_MANAGER = "org.freedesktop.login1.Manager"
_BUS = "org.freedesktop.DBus"
_MEMBER = "PrepareForShutdown"
_RULES = (
    f"type='signal',sender='{_NAME}',path='{_PATH}',interface='{_MANAGER}',member='{_MEMBER}'",
    f"type='signal',sender='{_BUS}',member='NameOwnerChanged',arg0='{_NAME}'",
)
_TO_BUS = (_BUS, "/org/freedesktop/DBus", _BUS)
_TO_LOGIND = (_NAME, _PATH, _MANAGER)
_TO_PROPERTIES = (_NAME, _PATH, "org.freedesktop.DBus.Properties")


class InhibitorRefused(Exception):  # noqa: N818 - as in watcher.errors
    """Raised when logind gives no lock; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What logind says when it is asked."""

    is_preparing: bool
    """Whether a shutdown has been announced and not called off."""
    limit_s: float
    """Longest that all locks together delay one: InhibitDelayMaxSec."""


def require_dbus_fast(setting: str) -> None:
    """Make sure that there is a client for D-Bus.

    Raises:
        ConfigError: There is none.
    """
    if find_spec("dbus_fast") is None:
        raise ConfigError(f"{setting} needs dbus-fast: pip install 'reprieve[logind]'")


class LoginManager:
    """A connection to logind; made by :meth:`connect`, and useless once a call has failed."""

    def __init__(self, bus: "MessageBus") -> None:
        self._bus = bus
        self.owner = ""
        """logind's own name on the bus, which changes when it is restarted."""
        self._announced: asyncio.Queue[bool] = asyncio.Queue()

    @classmethod
    async def connect(cls, address: str) -> "LoginManager":
        """Connect to the bus, and begin to listen to logind.

        Raises:
            SourceUnavailable: There is no bus, or no logind on it.
        """
        from dbus_fast import DBusFastError  # noqa: PLC0415 - an optional dependency
        from dbus_fast.aio import MessageBus  # noqa: PLC0415 - likewise

        try:
            bus = MessageBus(bus_address=address, negotiate_unix_fd=True)
            async with asyncio.timeout(CALL_LIMIT_S):
                await bus.connect()
        except (OSError, EOFError, DBusFastError) as error:
            raise _unavailable(address, error) from error
        manager = cls(bus)
        try:
            bus.add_message_handler(manager._heard)
            for rule in _RULES:
                await manager._call(_TO_BUS, "AddMatch", "s", [rule])
            manager.owner = str(
                (await manager._call(_TO_BUS, "GetNameOwner", "s", [_NAME])).body[0]
            )
        except BaseException:
            manager.close()
            raise
        return manager

    async def announced(self) -> bool:
        """Return the next announcement: True, a shutdown is coming; False, it is called off."""
        return await self._announced.get()

    @property
    def has_announced(self) -> bool:
        """Whether there is an announcement that nobody has taken yet."""
        return not self._announced.empty()

    async def look(self) -> Outlook:
        """Ask logind what it is about to do.

        Raises:
            SourceUnavailable: It does not answer.
            SourceMalformed: It answers something else.
        """
        preparing = await self._property("PreparingForShutdown")
        limit_us = await self._property("InhibitDelayMaxUSec")
        if not isinstance(preparing, bool) or not isinstance(limit_us, int):
            raise SourceMalformed(f"logind: PreparingForShutdown is {preparing!r:.40}")
        return Outlook(preparing, limit_us / 1e6)

    async def inhibit(self, why: str) -> int:
        """Return a descriptor that delays a shutdown until it is closed, at most for the limit.

        Raises:
            InhibitorRefused: logind gives none, for want of rights or because it is too late.
            SourceUnavailable: It does not answer.
        """
        words = ["shutdown", "reprieve-watcher", why, "delay"]
        reply = await self._ask(_TO_LOGIND, "Inhibit", "ssss", words)
        if reply.error_name:
            said = f"{reply.error_name.rpartition('.')[2]}: {' '.join(map(str, reply.body))}"
            raise InhibitorRefused(said[:256])
        return int(reply.unix_fds[reply.body[0]])

    def close(self) -> None:
        """Leave the bus; a lock stays."""
        self._bus.disconnect()

    def _heard(self, message: "Message") -> None:
        """Take in a signal. Any program can send one to us, so the sender is looked at."""
        if message.member == "NameOwnerChanged" and message.sender == _BUS:
            name, _, owner = message.body
            self.owner = owner if name == _NAME else self.owner
        said = (message.sender, message.interface, message.member, message.signature)
        if said == (self.owner, _MANAGER, _MEMBER, "b"):
            self._announced.put_nowait(bool(message.body[0]))

    async def _property(self, name: str) -> object:
        reply = await self._call(_TO_PROPERTIES, "Get", "ss", [_MANAGER, name])
        return reply.body[0].value

    async def _call(
        self, to: tuple[str, str, str], member: str, signature: str, words: list[str]
    ) -> "Message":
        reply = await self._ask(to, member, signature, words)
        if reply.error_name:
            said = " ".join(map(str, reply.body))
            why = f"logind: {member}: {reply.error_name} {said:.200}"
            raise SourceUnavailable(why, outcome="refused")
        return reply

    async def _ask(
        self, to: tuple[str, str, str], member: str, signature: str, words: list[str]
    ) -> "Message":
        from dbus_fast import DBusFastError, Message  # noqa: PLC0415 - an optional dependency

        if not self._bus.connected:
            raise SourceUnavailable(f"logind: {member}: the bus has gone", outcome="connection")
        try:
            async with asyncio.timeout(CALL_LIMIT_S):
                reply = await self._bus.call(Message(*to, member, signature=signature, body=words))
        except (OSError, EOFError, DBusFastError) as error:
            raise _unavailable(f"logind: {member}", error) from error
        if reply is None:
            raise SourceUnavailable(f"logind: {member}: the bus has gone", outcome="connection")
        return reply


def _unavailable(what: str, error: Exception) -> SourceUnavailable:
    if isinstance(error, TimeoutError):
        return SourceUnavailable(f"{what}: no answer within {CALL_LIMIT_S:g} s", outcome="timeout")
    why = f"{type(error).__name__}: {error}"[:256]
    return SourceUnavailable(f"{what}: {why}", outcome="connection")


def release(lock: int) -> None:
    """Let the shutdown go on, as far as this lock is concerned."""
    with contextlib.suppress(OSError):
        os.close(lock)
