"""How much memory is left, on the machine and in the cgroups that this process is in."""

from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_V2 = ("", "memory.max", "memory.current", "inactive_file")
_V1 = ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def room_bytes(proc: Path = Path("/proc"), cgroups: Path = _CGROUPS) -> int:
    """Return how many bytes can be taken before the kernel kills for them; 0 if it can't be told.

    All processes of the machine share them. What files have cached counts as free where nobody has
    looked at it for a while.
    """
    try:
        available = _figures(proc / "meminfo")["MemAvailable:"] * 1024
        return max(0, min([available, *_rooms(proc / "self/cgroup", cgroups)]))
    except (OSError, ValueError, LookupError):
        return 0


def _rooms(own: Path, cgroups: Path) -> Iterator[int]:
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
                    yield int(text) - used


def _figures(path: Path) -> dict[str, int]:
    """Read a file that has a name and a number in each line."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {line[0]: int(line[1]) for line in lines}
