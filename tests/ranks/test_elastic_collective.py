"""Jobs that go on with fewer nodes, and whose ranks agree by a collective."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.elastic_job import Job, as_ordered
from tests.support.flags import put_flag
from tests.support.launching import Launch, vanish

pytestmark = [pytest.mark.ranks, pytest.mark.slow, pytest.mark.timeout(300)]


def three_nodes(job: Job, stack: ExitStack) -> dict[int, Launch]:
    """Start a job and wait until it trains."""
    running = {node: stack.enter_context(job.start(node)) for node in (1, 2, 3)}
    job.wait_for(3)
    return running


@pytest.mark.parametrize("has_notice", [True, False], ids=["notice", "vanishes"])
def test_job_goes_on_without_a_node_and_takes_another_in(
    tmp_path: Path,
    has_notice: bool,  # noqa: FBT001 - a table's column
) -> None:
    """As by the Store: a node leaves, or is lost, and a new one comes."""
    job = Job(directory=tmp_path, nodes="1:3", agreement="collective")
    with ExitStack() as stack:
        running = three_nodes(job, stack)
        taken = running.pop(3)
        if has_notice:
            put_flag(job.of(3) / "run")
            assert taken.wait() == 75, taken.output
        else:
            vanish(taken)
        job.wait_for(3, 2)
        running[4] = stack.enter_context(job.start(4))
        job.wait_for(3, 2, 3)
        job.hurry()
        for node, left in running.items():
            assert left.wait(60) == 0, f"node {node}: {left.output}"
    assert job.samples() == as_ordered()


def test_last_node_goes_on_alone_when_both_others_have_notices_at_once(tmp_path: Path) -> None:
    """One round takes two nodes away, and one rank agrees with nobody."""
    job = Job(directory=tmp_path, nodes="1:3", agreement="collective")
    with ExitStack() as stack:
        running = three_nodes(job, stack)
        for node, left_s in ((2, 60.0), (3, 90.0)):
            put_flag(job.of(node) / "run", notice_id=f"of-{node}", left_s=left_s)
        for node in (2, 3):
            taken = running.pop(node)
            assert taken.wait() == 75, taken.output
        job.wait_for(3, 1)
        job.hurry()
        assert running[1].wait(60) == 0, running[1].output
    assert job.samples() == as_ordered()
