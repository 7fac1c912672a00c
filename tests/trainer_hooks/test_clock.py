"""The clock of deadlines, read from the system as it is."""

import os
import time
from pathlib import Path

import pytest

from trainer_hooks import clock


def test_boottime_never_runs_backwards_when_read_often() -> None:
    """It is the system's own clock, suspend included, so at least as old as the monotonic one."""
    readings = [clock.boottime_s() for _ in range(1000)]
    assert readings == sorted(readings)
    assert readings[-1] >= time.monotonic() - 1.0


def test_boot_id_is_the_kernels_when_the_system_shows_it() -> None:
    """Without its newline, so that it compares equal to what another process has written."""
    kernels = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    assert clock.boot_id() == kernels.strip() != ""


def test_boot_id_is_unknown_when_the_system_hides_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A sandbox without /proc is no reason to fail."""
    monkeypatch.setattr(clock, "_BOOT_ID", tmp_path / "none")
    assert clock.boot_id() is None


def test_boottime_is_shifted_when_the_time_namespace_is_not_the_machines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Any other one's may be; a kernel that knows none shifts nothing."""
    kernels = Path("/proc/self/ns/time").readlink()
    assert clock.is_boottime_shifted() is (str(kernels) != "time:[4026531834]")
    monkeypatch.setattr(clock, "_TIME_NAMESPACE", tmp_path)
    assert clock.is_boottime_shifted()
    monkeypatch.setattr(clock, "_TIME_NAMESPACE", tmp_path / "none")
    assert not clock.is_boottime_shifted()


def test_process_began_between_boot_and_now_whichever_way_it_is_named() -> None:
    """This one is asked for by a ledger, the launcher's by its ranks."""
    own = clock.process_began_ticks()
    assert own == clock.process_began_ticks(os.getpid())
    assert 0 < own / os.sysconf("SC_CLK_TCK") <= clock.boottime_s()


@pytest.mark.parametrize(("deadline_s", "left_s"), [(None, None), (130.0, 30.0), (70.0, 0.0)])
def test_seconds_left_is_never_negative_when_the_deadline_is_past(
    monkeypatch: pytest.MonkeyPatch, deadline_s: float | None, left_s: float | None
) -> None:
    """A wait with what it returns ends at once, or never when nobody knows a deadline."""
    monkeypatch.setattr(clock, "boottime_s", lambda: 100.0)
    assert clock.seconds_left(deadline_s) == left_s
