"""``wait_for_change`` of the simulated metadata server: what ends a wait, and what does not."""

import asyncio
import json

import pytest

from tests.support.simulated_aws import TurnedClock
from tests.support.simulated_gcp import GcpSimulator
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.gcp.vocabulary import WORDS
from watcher.simulator.vocabulary import change_of

PREEMPTED = "instance/preempted"
EVENT = "instance/maintenance-event"


async def test_wait_ends_when_the_value_changes(simulator: GcpSimulator) -> None:
    """With the new value and its ETag; other values' changes are not ours."""
    first = await simulator.item(PREEMPTED)
    waiting = await simulator.waiting(PREEMPTED, last_etag=first.headers["etag"], timeout_sec=60)
    await simulator.control("POST", "maintenance_event")
    assert not waiting.done()
    await simulator.control("POST", "preempted")
    answer = await waiting
    assert (answer.status, answer.body) == (200, "TRUE")
    assert answer.headers["etag"] != first.headers["etag"]


async def test_wait_ends_at_once_when_the_flip_was_between_two_waits(
    simulator: GcpSimulator,
) -> None:
    """The ETag that one has is not the one there is; nor are `0` and `NONE`."""
    first = await simulator.item(PREEMPTED)
    await simulator.control("POST", "preempted")
    for known in (first.headers["etag"], "0", "NONE"):
        answer = await simulator.item(PREEMPTED, wait_for_change="true", last_etag=known)
        assert answer.body == "TRUE"


async def test_wait_ends_at_once_when_the_value_went_and_came_back(
    simulator: GcpSimulator,
) -> None:
    """A value that was another one meanwhile has another ETag."""
    first = await simulator.item(PREEMPTED)
    await simulator.control("POST", "preempted")
    await simulator.control("POST", "preempted", {"value": "FALSE"})
    known = first.headers["etag"]
    answer = await simulator.item(PREEMPTED, wait_for_change="true", last_etag=known)
    assert answer.body == "FALSE"
    assert answer.headers["etag"] != known


async def test_wait_ends_with_the_same_value_when_only_the_etag_changes(
    simulator: GcpSimulator,
) -> None:
    """Which a client must not take for a change."""
    first = await simulator.item(PREEMPTED)
    waiting = await simulator.waiting(PREEMPTED, last_etag=first.headers["etag"])
    await simulator.control("POST", "new_etags")
    answer = await waiting
    assert answer.body == "FALSE"
    assert answer.headers["etag"] != first.headers["etag"]


async def test_wait_ends_with_what_was_when_its_time_is_over(simulator: GcpSimulator) -> None:
    """200 and the same ETag."""
    known = (await simulator.item(PREEMPTED)).headers["etag"]
    answer = await simulator.item(PREEMPTED, wait_for_change="true", last_etag=known, timeout_sec=0)
    assert (answer.status, answer.body, answer.headers["etag"]) == (200, "FALSE", known)


async def test_wait_goes_on_when_the_flip_was_before_and_no_etag_is_given(
    simulator: GcpSimulator,
) -> None:
    """The trap: a client that starts late waits past the end of its VM."""
    await simulator.control("POST", "preempted")
    waiting = await simulator.waiting(PREEMPTED)
    await simulator.control("POST", "new_etags")
    assert (await waiting).body == "TRUE"


async def test_wait_on_a_directory_ends_when_anything_in_it_changes(
    simulator: GcpSimulator,
) -> None:
    """With all of it."""
    known = (await simulator.item("instance/", recursive="true")).headers["etag"]
    waiting = await simulator.waiting("instance/", recursive="true", last_etag=known)
    await simulator.control("POST", "preempted")
    assert json.loads((await waiting).body)["preempted"] == "TRUE"


class TestPlayed:
    """A change of the scenario, and somebody who waits for it."""

    @pytest.fixture
    def scenario(self) -> GcpScenario:
        """Preempted after five seconds."""
        return GcpScenario(changes=(change_of(WORDS, "preempted", {}, 5),))

    async def test_wait_ends_when_the_scenario_has_come_so_far(
        self, simulator: GcpSimulator, clock: TurnedClock
    ) -> None:
        """Any other request shows that it is time."""
        known = (await simulator.item(PREEMPTED)).headers["etag"]
        waiting = await simulator.waiting(PREEMPTED, last_etag=known)
        clock.turn(5)
        await simulator.item(EVENT)
        assert (await waiting).body == "TRUE"


async def test_waiting_client_is_let_go_when_it_leaves(simulator: GcpSimulator) -> None:
    """Its request has no status in the log."""
    waiting = await simulator.waiting(PREEMPTED)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await simulator.control("POST", "preempted")
    assert (await simulator.requests())[-1]["status"] is None
