"""A daemon that is killed in the middle of a drain, again and again, and started again."""

import random
import signal
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.killed_drain import NODE, ended, killed_drain

pytestmark = pytest.mark.e2e

PODS = 30
KILLS = 6
"""In one drain, each at a random point of a daemon's life: at a call to the API server, which has
no answer then, or some milliseconds later."""

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
"""Ten drains make 50 kills at least, five in each."""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", SEEDS)
async def test_every_pod_goes_and_none_twice_when_the_daemon_is_killed_at_random_points(
    tmp_path: Path, seed: int
) -> None:
    """The cordon stays all the time, and afterwards the Node is as it was, to the byte."""
    points = random.Random(seed)  # noqa: S311 - a test's dice, whose seed is in its name
    async with killed_drain(tmp_path, PODS) as at:
        before = at.cluster.content(NODE)
        kills = 0
        at.give_notice()
        for _ in range(KILLS):
            await at.start(
                calls=points.randint(1, 6),
                counts_nodes=points.random() < 0.3,
                after_s=points.choice([0.0, points.uniform(0.001, 0.02)]),
            )
            if not await ended(at):
                break
            kills += 1
            assert at.daemon is not None
            assert at.daemon.process.returncode == -signal.SIGKILL
            if at.granted():
                assert at.cluster.node(NODE)["spec"]["unschedulable"] is True
        if kills == KILLS:
            await at.start()
            await ended(at)
        assert at.cluster.pods() == ["agent"]
        assert sorted(at.granted()) == [f"pod-{number:02}" for number in range(PODS)]
        assert at.in_vain() == []
        assert at.cluster.node(NODE)["spec"]["unschedulable"] is True
        at.take_back()
        await eventually(lambda: at.daemon and "action undone action=cordon" in at.daemon.log)
        await eventually(lambda: at.cluster.content(NODE) == before)
        assert kills >= KILLS - 1
