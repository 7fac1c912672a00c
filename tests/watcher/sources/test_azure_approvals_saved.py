"""Approvals that wait for the trainers' own word that they have saved."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.approving_azure import acknowledge_all, azure_in_step, looks, posts
from tests.support.azure_bodies import body, read
from tests.support.clocks import TurnedClock, eventually
from tests.support.hearing_azure import hearing_azure
from tests.support.running import running
from tests.support.scripted_imds import ScriptedImds
from tests.support.simulated_azure import AzureSimulator
from tests.support.trainer_words import say
from watcher.actions import all_saved
from watcher.actions.all_saved import AllSaved
from watcher.actions.trainer_look import TrainerLook
from watcher.httpclient import HttpClient
from watcher.policy import POLICY
from watcher.sources.azure_approvals import Approvals
from watcher.sources.azure_config import Approve, AzureConfig
from watcher.sources.azure_session import EVENTS_PATH

PATH = EVENTS_PATH.partition("?")[0]
LONG_S = 1000.0
AFTER_SAVED = AzureConfig(approve=Approve.AFTER_SAVED)
BY_TIME = AzureConfig(approve=Approve.AFTER_ACTIONS)


@pytest.fixture
async def azure() -> AsyncIterator[AzureSimulator]:
    """A machine in Azure, in step with the daemon's clock."""
    async with azure_in_step() as client:
        yield client


async def test_event_starts_early_when_all_trainers_have_saved(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Not when they have saved for something else before, and once for what they were told of."""
    imds.needs_token = False
    imds.play(PATH, imds.status(200))
    events = read(body("reboot-by-user")).events
    clock.moment = events[0].notice.received
    async with HttpClient(imds.url) as client:
        approvals = Approvals(client, clock, AFTER_SAVED, POLICY)
        async with running(approvals.keep()):
            approvals.seen(events)
            assert approvals.waits_for_trainers()
            approvals.trainers_saved()
            approvals.acknowledged(events[0].notice)
            clock.turn(LONG_S)
            approvals.seen(events)
            assert not approvals._is_due.is_set()
            approvals.trainers_saved()
            await eventually(lambda: not approvals.waits_for_trainers())
            approvals.trainers_saved()
            assert not approvals._is_due.is_set()
    assert imds.requests == [("POST", PATH)]


@pytest.mark.parametrize(
    ("config", "name"),
    [(AFTER_SAVED, "preempt"), (AFTER_SAVED, "freeze-started"), (BY_TIME, "reboot-by-user")],
)
async def test_trainers_are_not_waited_for_when_nothing_depends_on_them(
    clock: TurnedClock, config: AzureConfig, name: str
) -> None:
    """What can't be approved at all, or goes by time."""
    async with HttpClient("http://127.0.0.1:9") as client:
        approvals = Approvals(client, clock, config, POLICY)
        assert not approvals.waits_for_trainers()
        approvals.seen(read(body(name)).events)
        assert not approvals.waits_for_trainers()


async def test_event_is_approved_by_the_word_of_trainers_on_this_node(
    azure: AzureSimulator, clock: TurnedClock, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their files are read as they come; one that is at work holds it up, and nobody is no word."""
    monkeypatch.setattr(all_saved, "LOOK_EVERY_S", 0.01)
    await azure.control("POST", "event", {"type": "Redeploy"})
    async with hearing_azure(azure.url, clock, AFTER_SAVED) as ears:
        await eventually(ears.inbox.qsize)
        acknowledge_all(ears)
        approvals = ears.source.approvals
        saved = AllSaved(TrainerLook(run_dir, "boot-a"), clock)
        telling = saved.keep_telling(approvals.waits_for_trainers, approvals.trainers_saved)
        async with running(telling):
            await looks(azure, 20)
            assert await posts(azure) == []
            say(run_dir, clock, "boot-a", rank0="stopping")
            await looks(azure, 20)
            assert await posts(azure) == []
            say(run_dir, clock, "boot-a", rank0="saved")
            await eventually(lambda: not approvals.waits_for_trainers())
    assert await posts(azure) == [200]
