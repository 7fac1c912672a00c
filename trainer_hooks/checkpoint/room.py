"""How much memory is left, on the machine and in the cgroups that this process is in."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_V2 = ("", "memory.max", "memory.current", "inactive_file")
_V1 = ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One bound on the memory of this process, and of others that share it."""

    name: str
    """For people."""
    key: str
    """The same for all processes of this machine that share it, in whatever container."""
    total_bytes: int
    left_bytes: int
    """Before the kernel kills for more; below 0 for nothing."""


def room_bytes(proc: Path = Path("/proc"), cgroups: Path = _CGROUPS) -> int:
    """Return how many bytes can be taken before the kernel kills for them; 0 if it can't be told.

    All processes of the machine share them. What files have cached counts as free where nobody has
    looked at it for a while.
    """
    return max(0, min((room.left_bytes for room in rooms(proc, cgroups)), default=0))


def rooms(proc: Path = Path("/proc"), cgroups: Path = _CGROUPS) -> list[Room]:
    """Return all that bounds the memory of this process; nothing if it can't be told."""
    try:
        figures = _figures(proc / "meminfo")
        total, left = figures["MemTotal:"] * 1024, figures["MemAvailable:"] * 1024
        machine = Room(name="the machine", key="machine", total_bytes=total, left_bytes=left)
        return [machine, *_rooms(proc / "self/cgroup", cgroups)]
    except (OSError, ValueError, LookupError):
        return []


def _rooms(own: Path, cgroups: Path) -> Iterator[Room]:
    """Yield what is left in each cgroup that has a limit, of either version of them."""
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in {"", "memory"}:
            continue
        folder, limit, usage, reclaimable = _V1 if controllers else _V2
        mounted = cgroups / folder
        # In a container the path may be the host's; then only the top is there, which is ours.
        inner = mounted / path.lstrip("/")
        for cgroup in (inner, *inner.parents):
            if cgroup.is_relative_to(mounted) and (cgroup / limit).exists():
                text = (cgroup / limit).read_text().strip()
                if text != "max":
                    used = int((cgroup / usage).read_text())
                    used -= _figures(cgroup / "memory.stat")[reclaimable]
                    yield Room(
                        name=f"the cgroup /{cgroup.relative_to(mounted).as_posix().strip('.')}",
                        key=f"cgroup {cgroup.stat().st_ino}",
                        total_bytes=int(text),
                        left_bytes=int(text) - used,
                    )


def _figures(path: Path) -> dict[str, int]:
    """Read a file that has a name and a number in each line."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {line[0]: int(line[1]) for line in lines}
