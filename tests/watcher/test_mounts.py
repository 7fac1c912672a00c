"""What is kept in memory, by the mounts of this very process."""

from pathlib import Path

import pytest

from watcher import mounts
from watcher.mounts import is_in_memory


def test_directory_is_in_memory_when_it_is_on_a_tmpfs() -> None:
    """Every Linux has one here."""
    assert is_in_memory(Path("/dev/shm"))  # noqa: S108 - a tmpfs, as /run is


@pytest.mark.parametrize("directory", ["/proc", "/sys", "/nowhere/at/all"])
def test_directory_is_not_in_memory_when_it_is_elsewhere(directory: str) -> None:
    """Neither what has another type, nor what is not there."""
    assert not is_in_memory(Path(directory))


@pytest.mark.parametrize(
    ("kind", "is_there"), [("tmpfs", True), ("ramfs", True), ("ext4", False), ("nfs4", False)]
)
def test_directory_is_judged_by_its_own_mount_when_there_are_many(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    """Optional fields and odd names stand between the number and the type."""
    device = tmp_path.stat().st_dev
    number = f"{device >> 8 & 0xFFF}:{device & 0xFF | device >> 12 & 0xFFF00}"
    table = tmp_path / "mountinfo"
    table.write_text(
        "21 1 0:999999 / /sys rw - sysfs sysfs rw\n"
        f"22 1 {number} / /a\\040b rw,nosuid shared:5 master:1 - {kind} source rw,size=1k\n"
    )
    monkeypatch.setattr(mounts, "_MOUNTS", table)
    assert is_in_memory(tmp_path) is is_there


def test_directory_is_not_in_memory_when_the_mounts_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unknown is treated as what could hang."""
    monkeypatch.setattr(mounts, "_MOUNTS", tmp_path / "none")
    assert not is_in_memory(Path("/dev/shm"))  # noqa: S108 - a tmpfs, as /run is
