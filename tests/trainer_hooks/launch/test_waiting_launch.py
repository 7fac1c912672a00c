"""``launch --when-notice=wait`` as a process: what it costs, and how it ends."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.flags import put_flag, remove_flag

pytestmark = pytest.mark.ranks

LAUNCH = "from trainer_hooks.cli import main; main()"


@contextmanager
def waiting(run_dir: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Give a launch that waits for the end of a notice."""
    put_flag(run_dir, notice_id="spot", left_s=3600.0)
    command = [sys.executable, "-c", LAUNCH, "launch", "--when-notice=wait", *arguments]
    with subprocess.Popen(
        command, env={"REPRIEVE_RUN_DIR": str(run_dir)}, stderr=subprocess.PIPE, text=True
    ) as launch:
        assert launch.stderr is not None
        try:
            assert "stop notice spot is in force" in launch.stderr.readline()
            yield launch
        finally:
            launch.kill()  # or the block waits for what does not end, and hides why


def test_launch_ends_with_75_and_has_no_torch_when_it_waits_and_is_told_to_stop(
    tmp_path: Path,
) -> None:
    """The node may be gone before the notice is."""
    with waiting(tmp_path, "train.py") as launch:
        assert "torch" not in _mapped(launch.pid)
        launch.send_signal(signal.SIGTERM)
        _, said = launch.communicate(timeout=50)
    assert launch.returncode == 75
    assert "told to stop" in said


def test_launch_goes_on_when_the_notice_is_withdrawn(tmp_path: Path) -> None:
    """What it then does is what it would have done at once: here it finds no script."""
    with waiting(tmp_path, str(tmp_path / "missing.py")) as launch:
        remove_flag(tmp_path)
        _, said = launch.communicate(timeout=50)
    assert "spot holds nobody back any more" in said
    assert "missing.py" in said
    assert launch.returncode == 78


def _mapped(pid: int) -> str:
    """Return what files a process has mapped: shared libraries among them."""
    return Path(f"/proc/{pid}/maps").read_text()
