"""The bench of the relay's Node side: what it checks, sends and shows."""

import asyncio

import pytest
from lab.intervals import Interval
from lab.kube import TOKEN
from relay_nodes import NOTICES, PEER_BURST, Bucket, check, table, warning

from tests.fakes.kube.access import ADMIN


def test_figure_counts_only_when_every_node_has_its_notice() -> None:
    """One forgotten is no faster way."""
    check(NOTICES, NOTICES)
    for wrong in ((NOTICES, NOTICES - 1), (NOTICES - 1, NOTICES)):
        with pytest.raises(RuntimeError, match="of 1000 notices"):
            check(*wrong)


def test_notices_are_for_as_many_instances() -> None:
    """And the token is the fake's."""
    told = [warning(number) for number in range(NOTICES)]
    assert len({one.instance_id for one in told}) == NOTICES == 1000
    assert len({one.notice.id for one in told}) == NOTICES
    assert TOKEN == ADMIN


async def test_peers_first_requests_go_at_once_and_the_next_one_waits() -> None:
    """As its client limits itself."""
    bucket = Bucket()
    for _ in range(PEER_BURST):
        async with asyncio.timeout(5):
            await bucket.take()
    waiting = asyncio.create_task(bucket.take())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


def test_table_names_both_ways() -> None:
    """People read that; the last line of the bench is for programs."""
    lines = table(Interval(1.0, 0.9, 1.1), 14.0).splitlines()
    assert [line.split()[0] for line in lines] == ["notices", "ours", "five_a_s"]
