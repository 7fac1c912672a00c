"""The example of a job whose checkpoints are in a bucket, on a real S3 server."""

import signal
from pathlib import Path

import pytest

from tests.support.example_script import start_example
from tests.support.launching import wait_until
from tests.support.s3_server import BUCKET, use_server

pytestmark = [pytest.mark.ranks, pytest.mark.slow, pytest.mark.timeout(900)]


def test_job_goes_on_from_the_bucket_when_its_node_is_gone(
    weed_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to stop it leaves with 75; on a node with another disk it goes on to its end."""
    use_server(monkeypatch, weed_endpoint)
    where = {"BUCKET": BUCKET, "RUN": tmp_path.name}
    steps = ("--steps", "60", "--save-every", "10", "--min-step-s", "0.2", "--batch-size", "2")
    with start_example("s3/train.sh", tmp_path / "first", *steps, environment=where) as job:
        wait_until(lambda: "committed step=10" in job.output, "a commit", 240)
        job.process.send_signal(signal.SIGTERM)
        assert job.wait(240) == 75, job.output
    with start_example("s3/train.sh", tmp_path / "second", *steps, environment=where) as job:
        assert job.wait(240) == 0, job.output
        assert "RESUMED step=" in job.output
