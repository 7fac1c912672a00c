"""A private bus, and a logind on it that does what the test says."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from dbus_fast import DBusError, Message, MessageType
from dbus_fast.aio import MessageBus
from dbus_fast.annotations import DBusBool, DBusStr, DBusUInt64, DBusUnixFd
from dbus_fast.constants import PropertyAccess
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property, dbus_signal

from tests.support.clocks import eventually

NAME = "org.freedesktop.login1"
PATH = "/org/freedesktop/login1"
MANAGER = "org.freedesktop.login1.Manager"

_CONFIG = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>{address}</listen>
  <policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/>
  </policy>
</busconfig>
"""


class PrivateBus:
    """A message bus of the test's own, which it can end and start again."""

    def __init__(self, directory: Path) -> None:
        self.address = f"unix:path={directory / 'bus'}"
        self._socket = directory / "bus"
        self._config = directory / "bus.conf"
        self._config.write_text(_CONFIG.format(address=self.address))
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it listens."""
        daemon = shutil.which("dbus-daemon")
        if daemon is None:
            pytest.skip("this machine has no dbus-daemon (apt install dbus)")
        self._socket.unlink(missing_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            *(daemon, f"--config-file={self._config}", "--nofork", "--nopidfile"),
            "--print-address",
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert await self._process.stdout.readline()

    async def end(self) -> None:
        """Kill it."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def shout(self, member: str, value: object, *, to: str | None = None) -> None:
        """Send logind's signal from a connection that is not logind's."""
        bus = await MessageBus(bus_address=self.address).connect()
        await bus.send(
            Message(
                destination=to,
                path=PATH,
                interface=MANAGER,
                member=member,
                message_type=MessageType.SIGNAL,
                signature="b",
                body=[value],
            )
        )
        await bus.call(Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
        bus.disconnect()
        await eventually(lambda: not bus.connected)


class FakeLogind(ServiceInterface):
    """The part of logind's manager that is asked for."""

    def __init__(self) -> None:
        super().__init__(MANAGER)
        self.limit_us = 5_000_000
        self.is_preparing = False
        self.refusal: str | None = None
        self.asked: list[list[str]] = []
        self.looks = 0
        self.announces_when_asked = False
        self._ends: list[int] = []

    @dbus_method()
    def Inhibit(  # noqa: N802 - logind's own name
        self, what: DBusStr, who: DBusStr, why: DBusStr, mode: DBusStr
    ) -> DBusUnixFd:
        self.asked.append([what, who, why, mode])
        if self.refusal is not None:
            raise DBusError(f"org.freedesktop.DBus.Error.{self.refusal}", "Permission denied")
        kept, given = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._ends += [kept]
        asyncio.get_running_loop().call_later(1, os.close, given)  # when it has been sent
        return given

    @dbus_property(access=PropertyAccess.READ)
    def InhibitDelayMaxUSec(self) -> DBusUInt64:  # noqa: N802 - likewise
        return self.limit_us

    @dbus_property(access=PropertyAccess.READ)
    def PreparingForShutdown(self) -> DBusBool:  # noqa: N802 - likewise
        self.looks += 1
        if self.announces_when_asked:
            self.announces_when_asked = False
            self.announce(start=True)
        return self.is_preparing

    @dbus_signal()
    def PrepareForShutdown(self, start: DBusBool) -> DBusBool:  # noqa: N802 - likewise
        return start

    def announce(self, *, start: bool) -> None:
        """Tell everybody that a shutdown is coming, or is called off."""
        self.is_preparing = start
        self.PrepareForShutdown(start)

    async def looked_at(self, times: int) -> None:
        """Wait until it has been asked so many more times."""
        before = self.looks
        await eventually(lambda: self.looks >= before + times)

    def locks(self) -> int:
        """Count the locks that are held."""
        return sum(_is_open(end) for end in self._ends)

    @asynccontextmanager
    async def serving(self, address: str) -> AsyncIterator[MessageBus]:
        """Be logind on this bus until the end of the block."""
        bus = await MessageBus(bus_address=address, negotiate_unix_fd=True).connect()
        bus.export(PATH, self)
        await bus.request_name(NAME)
        try:
            yield bus
        finally:
            bus.disconnect()
            with suppress(EOFError, OSError):
                await bus.wait_for_disconnect()  # type: ignore[no-untyped-call] # dbus-fast's own


def _is_open(end: int) -> bool:
    try:
        return os.read(end, 1) != b""
    except BlockingIOError:
        return True
