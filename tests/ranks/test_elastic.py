"""Jobs that go on with fewer nodes when one is taken, and take a new one in."""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.elastic_job import Job, as_ordered
from tests.support.flags import put_flag
from tests.support.launching import EXECUTABLE, Launch, launch, vanish, wait_until

pytestmark = [pytest.mark.ranks, pytest.mark.timeout(300)]


Samples = list[list[int]]
"""Of each step."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """What three nodes train on that nothing happens to; it is what the order says."""
    job = Job(directory=tmp_path_factory.mktemp("undisturbed"), nodes="3")
    job.hurry()
    with ExitStack() as stack:
        for left in [stack.enter_context(job.start(node)) for node in (1, 2, 3)]:
            assert left.wait(60) == 0, left.output
    assert job.samples() == as_ordered()
    return job.samples()


@contextmanager
def bare_store() -> Iterator[int]:
    """Run ``reprieve-trainer store`` on an address of its own; give its port."""
    command = [str(EXECUTABLE), "store", "--listen", "127.0.0.9:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            ready = re.fullmatch(r"ready listen=127\.0\.0\.9:(\d+)\n", process.stdout.readline())
            assert ready is not None
            yield int(ready[1])
        finally:
            process.kill()


def go_on(job: Job, running: dict[int, Launch], stack: ExitStack, since: float) -> Samples:
    """See that the two nodes left go on and take in a fourth; return what the job trained on."""
    job.wait_for(3, 2)
    began = min(step.at for step in job.generations()[1].values())
    print(f"from the notice to the first step of two nodes: {began - since:.1f} s")  # noqa: T201 - a figure of the run
    running[4] = stack.enter_context(job.start(4))
    job.wait_for(3, 2, 3)
    job.hurry()
    for node, left in running.items():
        assert left.wait(60) == 0, f"node {node}: {left.output}"
    return job.samples()


def three_nodes(job: Job, stack: ExitStack) -> dict[int, Launch]:
    """Start a job and wait until it trains."""
    running = {node: stack.enter_context(job.start(node)) for node in (1, 2, 3)}
    job.wait_for(3)
    return running


@pytest.mark.slow
def test_job_goes_on_without_a_node_when_that_one_has_a_notice(
    tmp_path: Path, undisturbed: Samples
) -> None:
    """Its launcher exits 75; the others do not end, and nothing is done twice but for the save."""
    job = Job(directory=tmp_path)
    with ExitStack() as stack:
        running = three_nodes(job, stack)
        since = time.time()
        put_flag(job.of(3) / "run")
        taken = running.pop(3)
        assert taken.wait() == 75, taken.output
        assert go_on(job, running, stack, since) == undisturbed


@pytest.mark.slow
def test_job_goes_on_without_a_node_when_that_one_vanishes(
    tmp_path: Path, undisturbed: Samples
) -> None:
    """Nobody has heard of it; the others miss its connections and then its heartbeat."""
    job = Job(directory=tmp_path)
    with ExitStack() as stack:
        running = three_nodes(job, stack)
        since = time.time()
        vanish(running.pop(3))
        assert go_on(job, running, stack, since) == undisturbed


@pytest.mark.slow
def test_job_goes_on_without_its_first_node_when_a_store_holds_the_rendezvous(
    tmp_path: Path, undisturbed: Samples
) -> None:
    """The node that would have held it, and whose rank has held the ranks' own Store."""
    with bare_store() as port, ExitStack() as stack:
        job = Job(directory=tmp_path, store=port)
        running = three_nodes(job, stack)
        since = time.time()
        put_flag(job.of(1) / "run")
        taken = running.pop(1)
        assert taken.wait() == 75, taken.output
        assert go_on(job, running, stack, since) == undisturbed


@pytest.mark.slow
def test_last_node_goes_on_alone_when_the_others_leave_one_after_the_other(
    tmp_path: Path, undisturbed: Samples
) -> None:
    """The second one's notice comes while it meets the third anew, which must not count on it."""
    job = Job(directory=tmp_path, nodes="1:3")
    with ExitStack() as stack:
        running = three_nodes(job, stack)
        put_flag(job.of(3) / "run")
        assert running[3].wait() == 75, running[3].output
        put_flag(job.of(2) / "run")
        assert running[2].wait() == 75, running[2].output
        wait_until(
            lambda: {s.world for g in job.generations() for s in g.values()} >= {1, 3}, "one"
        )
        job.hurry()
        assert running[1].wait(60) == 0, running[1].output
    assert job.samples() == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("code", [75, 76])
def test_job_ends_when_the_node_that_holds_its_rendezvous_goes(tmp_path: Path, code: int) -> None:
    """With a notice every launcher exits 75; without a word the two that are left exit 76."""
    job = Job(directory=tmp_path)
    with ExitStack() as stack:
        running = three_nodes(job, stack)
        if code == 75:
            put_flag(job.of(1) / "run")
        else:
            vanish(running.pop(1))
        for node, left in running.items():
            assert left.wait(60) == code, f"node {node}: {left.output}"


@pytest.mark.slow
def test_job_ends_on_all_nodes_when_a_user_stops_it(tmp_path: Path) -> None:
    """Nobody goes on: it is not a node that goes away."""
    job = Job(directory=tmp_path, nodes="1:2")
    with ExitStack() as stack:
        running = [stack.enter_context(job.start(node)) for node in (1, 2)]
        job.wait_for(2)
        subprocess.run([EXECUTABLE, "stop", tmp_path / "checkpoints"], check=True, timeout=90)
        for left in running:
            assert left.wait(60) == 75, left.output
    assert [len(generation) > 5 for generation in job.generations()] == [True]


@pytest.mark.slow
def test_job_starts_again_when_its_end_is_still_in_the_store(
    tmp_path: Path, undisturbed: Samples
) -> None:
    """A start that was closed for good; the same command line goes on from its checkpoint."""
    with bare_store() as port:
        job = Job(directory=tmp_path, store=port, nodes="1")
        for _ in range(2):
            job.hurry()
            with job.start(1) as running:
                assert running.wait(60) == 0, running.output
    assert job.samples() == undisturbed


def test_ranks_that_just_exit_75_are_not_started_for_ever(tmp_path: Path) -> None:
    """No rank has said that another node goes: the script's own code, and one start."""
    script = tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\necho x >> {tmp_path}/starts\nexit 75\n")
    script.chmod(0o755)
    options = ["--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]
    options += ["--rdzv-id=own", "--rdzv-conf=last_call_timeout=1", "--no-python"]
    with launch(tmp_path / "out", script, ranks=1, options=options) as running:
        assert running.wait() == 75, running.output
    assert (tmp_path / "starts").read_text() == "x\n"
