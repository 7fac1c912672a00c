"""A job whose checkpoints are in a bucket of a real S3 server: stopped, it goes on exactly."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.history import history
from tests.support.launching import Launch, descendants, launch, wait_until
from tests.support.s3_server import BUCKET, s3_client, use_server

pytestmark = [pytest.mark.ranks, pytest.mark.slow, pytest.mark.timeout(400)]

TINY_MAIN = Path(__file__).parents[1] / "support" / "tiny_main.py"
STEPS = 30


def start(directory: Path, checkpoints: str) -> Launch:
    """Start or resume a run of two ranks."""
    (directory / "log").mkdir(parents=True, exist_ok=True)
    return launch(directory, TINY_MAIN, checkpoints, str(directory / "log"))


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_job_goes_on_exactly_when_it_was_stopped_over_a_bucket(
    weed_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: signal.Signals
) -> None:
    """In order, or by kill -9 of all of it: bitwise the losses of a run on a file system."""
    use_server(monkeypatch, weed_endpoint)
    url = f"s3://{BUCKET}/{tmp_path.name}"
    with start(tmp_path / "straight", str(tmp_path / "checkpoints")) as running:
        assert running.wait(100) == 0, running.output
    with start(tmp_path / "job", url) as running:
        wait_until(lambda: "committed step=10" in running.output, "a commit", 120)
        if end == signal.SIGTERM:
            running.process.send_signal(end)
            assert running.wait(100) == 75, running.output
        else:
            for pid in [*descendants(running.process.pid), running.process.pid]:
                os.kill(pid, signal.SIGKILL)
    with start(tmp_path / "job", url) as running:
        assert running.wait(100) == 0, running.output
        assert "RESUMED step=" in running.output
    for rank in range(2):
        mine = history(tmp_path / "job" / "log", rank)
        assert sorted(mine) == [*range(STEPS)]
        assert mine == history(tmp_path / "straight" / "log", rank)
    client = s3_client(weed_endpoint)
    assert client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []) == []
    client.close()
