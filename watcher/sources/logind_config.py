"""What can be set about the source of the machine's own shutdowns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher import setting_values
from watcher.login_manager import SYSTEM_BUS


@dataclass(frozen=True, slots=True, kw_only=True)
class LogindConfig:
    """Whether the machine's own shutdown is heard."""

    watch: str = "off"
    """``on`` to hear it and delay it for the trainers; it needs systemd and the system bus."""
    bus_address: str = SYSTEM_BUS
    """The D-Bus address of the system bus."""


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {"watch": setting_values.one_of("on", "off"), "bus_address": setting_values.text}
)
