"""A whole node that stands still for a minute, as a hypervisor makes it, and a notice meanwhile."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.e2e.test_main_job import GptRun
from tests.support.cloud import Node
from tests.support.launching import descendants, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(400)]

FROZEN_S = 60.0


def test_job_stops_together_when_its_node_was_frozen_as_the_notice_came(tmp_path: Path) -> None:
    """Half of the two minutes are slept through; what is left is enough, and nothing is redone."""
    straight = GptRun(tmp_path / "straight")
    straight.finish()
    run = GptRun(tmp_path / "job", min_step_s=0.3)
    with Node(directory=run.directory) as node, run.start() as running:
        wait_until(run.has_done(12), "step 12")  # a save has been measured by then
        assert node.watcher is not None
        frozen = [node.watcher.pid, running.process.pid, *descendants(running.process.pid)]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        node.issue_notice()
        time.sleep(FROZEN_S)
        assert not node.flag.exists()
        for pid in reversed(frozen):  # ranks first: a launcher that wakes first must wait for them
            os.kill(pid, signal.SIGCONT)
        assert running.wait() == 75, running.output
        states = {result["state"] for result in running.report["results"]}
        steps = {result["step"] for result in running.report["results"]}
        assert states == {"saved"}
        assert steps == {run.committed_step()}
        assert node.log("watcher").count("notice admitted") == 1
    node.flag.unlink()  # the next node is another machine
    assert "RESUMED step=" in run.finish().output
    run.assert_same_as(straight)
