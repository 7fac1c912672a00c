"""Approvals, against a simulator that honours them: who gets one, and who never does."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.approving_azure import acknowledge_all, azure_in_step, looks, posted, posts
from tests.support.azure_bodies import body, read
from tests.support.clocks import TurnedClock, eventually
from tests.support.hearing_azure import hearing_azure
from tests.support.scripted_imds import ScriptedImds
from tests.support.simulated_azure import AzureSimulator
from watcher.httpclient import HttpClient
from watcher.notice import NoticeKind
from watcher.policy import POLICY
from watcher.policy_overrides import Override, overridden
from watcher.sources.azure_approvals import Approvals
from watcher.sources.azure_config import Approve, AzureConfig
from watcher.sources.azure_session import EVENTS_PATH

PATH = EVENTS_PATH.partition("?")[0]
WAIT_S = 120.0
APPROVING = AzureConfig(approve=Approve.AFTER_ACTIONS, approve_wait_s=WAIT_S)


@pytest.fixture
async def azure() -> AsyncIterator[AzureSimulator]:
    """A machine in Azure, in step with the daemon's clock."""
    async with azure_in_step() as client:
        yield client


async def test_event_starts_early_when_all_was_done_and_the_wait_is_over(
    azure: AzureSimulator, clock: TurnedClock
) -> None:
    """Not before the trainers have had their time, and once."""
    await azure.control("POST", "event", {"type": "Redeploy"})
    async with hearing_azure(azure.url, clock, APPROVING) as ears:
        await eventually(ears.inbox.qsize)
        clock.turn(WAIT_S)
        await looks(azure)
        acknowledge_all(ears)
        clock.turn(WAIT_S - 1)
        await looks(azure)
        assert await posts(azure) == []
        clock.turn(1)
        await posted(azure)
        [event] = await azure.events()
        assert event["EventStatus"] == "Started"
        await looks(azure)
        assert await posts(azure) == [200]


@pytest.mark.parametrize(
    ("config", "fields"),
    [
        (replace(APPROVING, approve=Approve.NEVER), {"type": "Redeploy"}),
        (AzureConfig(), {"type": "Redeploy"}),
        (APPROVING, {"type": "Preempt"}),
        (APPROVING, {"type": "Redeploy", "resources": ["gpu-vmss_0", "gpu-vmss_3"]}),
        (APPROVING, {"type": "Redeploy", "not_before_s": -1}),
    ],
    ids=["never", "default", "eviction", "not alone", "started"],
)
async def test_event_is_never_approved_when_it_must_not_be(
    azure: AzureSimulator, clock: TurnedClock, config: AzureConfig, fields: dict[str, object]
) -> None:
    """It counts for every machine that is named, and an eviction leaves no time to give away."""
    await azure.control("POST", "event", fields)
    async with hearing_azure(azure.url, clock, config) as ears:
        await eventually(ears.inbox.qsize)
        acknowledge_all(ears)
        clock.turn(10 * WAIT_S)
        await looks(azure)
        assert await posts(azure) == []


async def test_event_is_not_approved_when_it_is_so_far_ahead_that_nobody_was_told(
    azure: AzureSimulator, clock: TurnedClock
) -> None:
    """A notice that is only planned is acknowledged too, and again when all is done about it."""
    await azure.control("POST", "event", {"type": "Redeploy", "not_before_s": 86_400})
    async with hearing_azure(azure.url, clock, APPROVING) as ears:
        notice = await ears.hears()
        for lane in ears.source.lanes:
            lane.acknowledge(notice)
        clock.turn(10 * WAIT_S)
        await looks(azure)
        assert await posts(azure) == []
        clock.turn(86_400 - 900 - 10 * WAIT_S)
        for lane in ears.source.lanes:
            lane.acknowledge(notice)
        await looks(azure)
        assert await posts(azure) == []
        clock.turn(WAIT_S)
        await posted(azure)
        assert await posts(azure) == [200]


@pytest.mark.parametrize("failure", [500, 429, 400])
async def test_approval_is_tried_again_when_it_failed(
    imds: ScriptedImds, clock: TurnedClock, caplog: pytest.LogCaptureFixture, failure: int
) -> None:
    """At the next look, and no more once it was accepted."""
    imds.needs_token = False
    imds.play(PATH, imds.status(failure), imds.status(failure), imds.status(200))
    events = read(body("reboot-by-user")).events
    clock.moment = events[0].notice.received
    async with HttpClient(imds.url) as client:
        approvals = Approvals(client, clock, APPROVING, POLICY)
        keeping = asyncio.create_task(approvals.keep())
        approvals.seen(events)
        approvals.acknowledged(events[0].notice)
        clock.turn(WAIT_S)
        for failures in (1, 2):
            approvals.seen(events)
            await eventually(lambda: caplog.text.count("event not approved") == failures)  # noqa: B023 - awaited here
        approvals.seen(events)
        await eventually(lambda: approvals._finished)
        approvals.seen(events)
        assert not keeping.done()
        assert not approvals._is_due.is_set()
        keeping.cancel()
    assert imds.requests == [("POST", PATH)] * 3
    assert all(headers["Metadata"] == "true" for headers in imds.headers)


async def test_event_is_approved_anew_when_it_has_come_back(
    azure: AzureSimulator, clock: TurnedClock
) -> None:
    """What was done about an event that has gone counts no more."""
    async with hearing_azure(azure.url, clock, APPROVING) as ears:
        await azure.control("POST", "event", {"type": "Reboot"})
        await eventually(ears.inbox.qsize)
        acknowledge_all(ears)
        clock.turn(WAIT_S)
        await posted(azure)
        assert await posts(azure) == [200]
        await looks(azure)  # that it has started is heard as well
        ears.heard()
        await azure.control("POST", "event_end", {})
        withdrawn = await ears.hears()
        assert withdrawn.withdrawn
        for lane in ears.source.lanes:
            lane.acknowledge(withdrawn)  # as all is undone by now
        await looks(azure)
        await azure.control("POST", "event", {"type": "Reboot"})
        await eventually(ears.inbox.qsize)
        clock.turn(10 * WAIT_S)
        await looks(azure)
        assert await posts(azure) == [200]
        acknowledge_all(ears)
        clock.turn(WAIT_S)
        await posted(azure, 2)
        assert await posts(azure) == [200, 200]


@pytest.mark.parametrize(("lead_s", "is_done"), [(900, False), (30 * 86_400, True)])
async def test_event_far_ahead_is_done_with_only_where_the_policy_has_acted_on_it(
    clock: TurnedClock, lead_s: float, *, is_done: bool
) -> None:
    """Settings may let a node act on maintenance days ahead."""
    policy = overridden({NoticeKind.MAINTENANCE: Override(lead_s=lead_s)})
    [event] = read(body("redeploy-in-days")).events
    clock.moment = event.notice.received
    async with HttpClient("http://127.0.0.1:9") as client:
        approvals = Approvals(client, clock, APPROVING, policy)
        approvals.acknowledged(event.notice)
        assert (event.notice.id in approvals._done_s) is is_done
