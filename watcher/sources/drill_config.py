"""What can be set about drills through the running daemon."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from watcher import setting_values


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillConfig:
    """Where root can begin a drill on this node."""

    socket: Path | None = None
    """The Unix socket at which root, and nobody else, asks for a drill; without it there is none.
    Its directory has to be the daemon's alone, and not the run directory, which containers see:
    root in a container is root to a socket."""


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {"socket": setting_values.path}
)
