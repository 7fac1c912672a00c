"""A rank and its launcher: found through the environment, and mistaken for nobody else."""

import os
import select
import subprocess
from collections.abc import Iterator

import pytest

from trainer_hooks.errors import ConfigError, LauncherGoneError
from trainer_hooks.launched import (
    GRACE_VARIABLE,
    VARIABLE,
    introduce_launcher,
    open_launcher,
    told_grace_s,
)


@pytest.fixture
def launcher() -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process that stands in for the launcher."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no launcher, and keep what a test says of one to itself."""
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.delenv(VARIABLE)


def word_of(pid: int) -> str:
    """Return what a process with this pid would say of itself."""
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - one line
        start_time = file.read().rpartition(")")[2].split()[19]
    return f"{pid}:{start_time}:{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116 - likewise


def is_readable(descriptor: int) -> bool:
    """Tell whether a descriptor is readable now."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def test_launcher_is_nobody_when_no_word_was_left() -> None:
    """A script that was started by hand."""
    assert open_launcher() is None


def test_launcher_is_found_when_it_left_word_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """By ourselves, here."""
    monkeypatch.setenv(VARIABLE, "")
    introduce_launcher()
    assert os.environ[VARIABLE] == word_of(os.getpid())
    descriptor = open_launcher()
    assert descriptor is not None
    assert not is_readable(descriptor)
    os.close(descriptor)


def test_descriptor_turns_readable_when_the_launcher_dies(
    launcher: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while nobody has waited for it; who comes after that starts nothing."""
    monkeypatch.setenv(VARIABLE, word_of(launcher.pid))
    descriptor = open_launcher()
    assert descriptor is not None
    launcher.kill()
    select.select([descriptor], [], [], 20)
    assert is_readable(descriptor)
    os.close(descriptor)
    with pytest.raises(LauncherGoneError):
        open_launcher()
    launcher.wait()
    with pytest.raises(LauncherGoneError):
        open_launcher()


def test_launcher_is_gone_when_another_process_has_its_pid(
    launcher: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pids come back; start times do not."""
    pid, start_time, namespace = word_of(launcher.pid).split(":")
    monkeypatch.setenv(VARIABLE, f"{pid}:{int(start_time) - 1}:{namespace}")
    with pytest.raises(LauncherGoneError):
        open_launcher()


def test_launcher_is_unknown_when_it_lives_in_another_pid_namespace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There its pid means somebody else."""
    monkeypatch.setenv(VARIABLE, f"{os.getpid()}:1:1")
    assert open_launcher() is None


@pytest.mark.parametrize(
    ("text", "grace_s"), [(None, None), ("85", 85.0), ("0", 0.0), ("2.5", 2.5)]
)
def test_grace_is_known_when_somebody_has_said_it(
    monkeypatch: pytest.MonkeyPatch, text: str | None, grace_s: float | None
) -> None:
    """The launcher, or whoever starts ranks without one."""
    monkeypatch.delenv(GRACE_VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(GRACE_VARIABLE, text)
    assert told_grace_s() == grace_s


@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf"])
def test_grace_is_refused_when_it_is_no_number_of_seconds(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """By name."""
    monkeypatch.setenv(GRACE_VARIABLE, text)
    with pytest.raises(ConfigError, match=GRACE_VARIABLE):
        told_grace_s()
