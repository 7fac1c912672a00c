"""When a queue's reader is blind, on what answers where SQS should."""

from contextlib import closing

import pytest

from tests.support.clocks import TurnedClock
from tests.support.scripted_sqs import said, scripted_sqs
from watcher.aws.sqs import SqsQueue
from watcher.errors import SourceUnavailable
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.sources.aws_reception import KEY, KEYS, Reception


async def test_reader_is_blind_when_a_portal_answers_for_sqs(
    monkeypatch: pytest.MonkeyPatch, clock: TurnedClock, metrics: Metrics
) -> None:
    """Its 200 is no answer: the source is not ready, and does not become so."""
    health = SourceHealth("aws_sqs", KEYS, clock(), metrics)
    async with scripted_sqs(said("<html>Sign in</html>", headers={}), monkeypatch) as sqs:
        with closing(SqsQueue(sqs.url)) as queue:
            reception = Reception(queue, 0, health, clock)
            with pytest.raises(SourceUnavailable, match="not SQS's answer") as failure:
                await reception.receive(visibility_s=30)
    assert (failure.value.key, failure.value.outcome) == (KEY, "malformed")
    assert health.unfit(clock(), 0).keys() == {KEY}
