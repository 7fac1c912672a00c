"""When a queue's reader is blind, on what answers where SQS should."""

import asyncio
from contextlib import closing

import pytest
from aiohttp import web

from tests.support.clocks import TurnedClock
from tests.support.scripted_sqs import PROOF, said, scripted_sqs
from watcher.aws import limited_calls
from watcher.aws.sqs import SqsQueue
from watcher.errors import SourceUnavailable
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.sources.reception import KEY, KEYS, Reception

MESSAGE = {"MessageId": "m", "ReceiptHandle": "m-1", "Body": "hello"}


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


async def test_reader_is_blind_and_hears_again_when_an_answer_drips(
    monkeypatch: pytest.MonkeyPatch, clock: TurnedClock, metrics: Metrics
) -> None:
    """A byte now and then exceeds none of the client's limits; the next answer is whole."""
    health = SourceHealth("aws_sqs", KEYS, clock(), metrics)
    is_over = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if len(sqs.asked) > 1:
            return await said({"Messages": [MESSAGE]})(request)
        response = web.StreamResponse(headers={**PROOF, "Content-Length": "10000"})
        await response.prepare(request)
        while not is_over.is_set():
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    async with scripted_sqs(answer, monkeypatch) as sqs:
        with closing(SqsQueue(sqs.url)) as queue:
            reception = Reception(queue, 0, health, clock)
            with monkeypatch.context() as patch:
                patch.setattr(limited_calls, "CALL_LIMIT_S", 1.0)
                with pytest.raises(
                    SourceUnavailable, match="no whole answer within 1 s"
                ) as failure:
                    await reception.receive(visibility_s=30)
            assert failure.value.outcome == "timeout"
            [message] = await reception.receive(visibility_s=30)
            assert message.body == "hello"
            is_over.set()
    assert health.blind_since() is None
