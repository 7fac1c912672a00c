"""What is left of the memory, as the kernel tells it."""

from pathlib import Path

import pytest

from trainer_hooks.checkpoint.room import room_bytes

MACHINE_KB = 1000
V1 = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
V2 = "", "memory.max", "memory.current", "inactive_file"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Return a /proc whose machine has a thousand kilobytes left."""
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 9999 kB\nMemAvailable: {MACHINE_KB} kB\nHuge: 0\n")
    return proc


def limit(mounted: Path, version: tuple[str, ...], group: str, text: str, used: int) -> None:
    """Give a cgroup a limit; ten bytes of what it uses are files that nobody looks at."""
    _, limit_name, usage_name, reclaimable = version
    folder = mounted / version[0] / group
    folder.mkdir(parents=True, exist_ok=True)
    (folder / limit_name).write_text(f"{text}\n")
    (folder / usage_name).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{reclaimable} 10\n")


@pytest.mark.parametrize(("version", "own"), [(V2, "0::"), (V1, "9:cpu:/x\n4:memory:")])
def test_room_is_that_of_the_tightest_cgroup_when_they_are_nested(
    version: tuple[str, ...], own: str, proc: Path, tmp_path: Path
) -> None:
    """A limit counts for all that are below it."""
    (proc / "self/cgroup").write_text(f"{own}/jobs/ours\n")
    limit(tmp_path, version, "jobs/ours", "5000", used=100)
    assert room_bytes(proc, tmp_path) == 4910
    limit(tmp_path, version, "jobs", "3000", used=2000)
    assert room_bytes(proc, tmp_path) == 1010
    limit(tmp_path, version, "jobs/others", "1", used=1)
    assert room_bytes(proc, tmp_path) == 1010


def test_room_is_the_containers_when_the_path_is_the_hosts(proc: Path, tmp_path: Path) -> None:
    """A container sees only its own cgroup, mounted at the top."""
    (proc / "self/cgroup").write_text("0::/kubepods/pod1/container2\n")
    limit(tmp_path, V2, "", "700", used=200)
    assert room_bytes(proc, tmp_path) == 510


def test_room_is_the_machines_when_no_cgroup_has_a_limit(proc: Path, tmp_path: Path) -> None:
    """The word for that is max."""
    (proc / "self/cgroup").write_text("0::/jobs\n")
    limit(tmp_path, V2, "jobs", "max", used=100)
    assert room_bytes(proc, tmp_path) == MACHINE_KB * 1024


def test_room_is_none_when_it_cannot_be_told_or_is_used_up(proc: Path, tmp_path: Path) -> None:
    """Unknown is not plenty."""
    assert room_bytes(proc, tmp_path) == 0  # there is no /proc/self/cgroup
    (proc / "self/cgroup").write_text("0::/jobs\n")
    limit(tmp_path, V2, "jobs", "100", used=500)
    assert room_bytes(proc, tmp_path) == 0


def test_some_room_is_left_when_this_very_test_runs() -> None:
    """On the machine's own files, whichever version of cgroups it has."""
    assert room_bytes() > 1024 * 1024
