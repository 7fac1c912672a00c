"""Another Node is asked for when all have saved, once, and by nothing that others rely on."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.refusals import Refusal, busy
from tests.support.clocks import TurnedClock
from tests.support.draining import BOOT_ID, Draining, draining
from tests.support.own_node import NODE
from watcher.actions.all_saved import AllSaved
from watcher.actions.drain import Drain
from watcher.actions.last_turn import LastTurn
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_replacement import NodeReplacement
from watcher.actions.node_wishes import NodeWishes
from watcher.actions.trainer_look import TrainerLook
from watcher.config import DrainConfig
from watcher.errors import ActionDryRun, ActionRefused, ActionRetryable, ActionWaiting
from watcher.kube.node import NodeApi
from watcher.kube.replacement import PRESETS, ask_of
from watcher.notice import NoticeKind, Standing

KEY, VALUE = PRESETS["hyperpod"].key, PRESETS["hyperpod"].value
WINDOW_S = 600
FORCED_S = 570


class Asking:
    """A drain, and the question that comes after it."""

    def __init__(self, at: Draining, setting: str) -> None:
        self.at = at
        wishes = NodeWishes(at.state, BOOT_ID, at.clock)
        api = NodeApi(at.client, NODE)
        self.desk = NodeDesk(api, wishes, dict, at.board, ask_of(setting))
        look = TrainerLook(at.run_dir, BOOT_ID)
        self.drain = Drain(self.desk, at.client, look, DrainConfig(), at.clock)
        turn = LastTurn(self.drain, AllSaved(look, at.clock), 30, at.clock)
        self.action = NodeReplacement(self.desk, turn)
        at.drain = self.drain

    def request(self, name: str = "request-1", reason: str = "straggler") -> Standing:
        """Put a trainer's request in force."""
        detail = {"reason": reason, "text": "rank 1 is slow"}
        kind = NoticeKind.NODE_REQUEST
        return self.at.notice(name, left_s=WINDOW_S, kind=kind, detail=detail)

    async def ask(self, standing: Standing) -> str:
        """Ask the drain and then for another Node, once; return what the latter says."""
        await self.at.ask(standing)
        try:
            return await self.action.run(standing)
        except ActionWaiting as waiting:
            return str(waiting)

    def label(self) -> str | None:
        """Return HyperPod's label."""
        found: str | None = self.node()["metadata"].get("labels", {}).get(KEY)
        return found

    def condition(self) -> dict[str, str] | None:
        """Return the condition of the tests' own reader."""
        found = self.node()["status"]["conditions"]
        return next((one for one in found if one["type"] == "NodeFaulty"), None)

    def node(self) -> dict[str, Any]:
        """Return the Node."""
        return self.at.cluster.node(NODE)


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain on a Node of HyperPod's."""
    async with draining(tmp_path, clock) as at:
        at.cluster.mark_node(NODE, labels={KEY: "Schedulable"})
        yield at


async def test_another_node_is_asked_for_when_all_have_saved_and_been_asked_to_end(
    at: Draining,
) -> None:
    """HyperPod ends the machine within minutes of the label, whoever is still on it."""
    asking = Asking(at, "hyperpod")
    request = asking.request()
    at.cluster.add_pod("trainer", NODE)
    for _ in range(5):
        at.train("trainer")
        assert "until all trainers have saved" in await asking.ask(request)
        at.clock.turn(1)
    at.train("trainer", "saved")
    assert "until the drain has asked every pod to end" in await asking.ask(request)
    assert asking.label() == "Schedulable"
    assert await asking.ask(request) == f"asked for another Node than {NODE}: label {KEY}={VALUE}"
    assert asking.label() == VALUE
    at.withdraw(request)
    assert "not asked for by us" in await asking.action.undo(request)
    assert asking.label() == "Schedulable"


async def test_another_node_is_asked_for_when_trainers_never_say_that_they_have_saved(
    at: Draining,
) -> None:
    """Half a minute before the stop's own deadline; a trainer that hangs is why it was asked."""
    asking = Asking(at, "hyperpod")
    request = asking.request()
    at.clock.turn(FORCED_S - 1)
    assert "until all trainers have saved" in await asking.ask(request)
    at.clock.turn(1)
    await asking.ask(request)
    assert asking.label() == VALUE


async def test_condition_is_put_on_and_taken_off_when_that_is_what_its_reader_reads(
    at: Draining,
) -> None:
    """Machine health checks read any condition that they are told to."""
    asking = Asking(at, "condition:NodeFaulty=True")
    request = asking.request()
    at.clock.turn(FORCED_S)
    assert "condition NodeFaulty=True" in await asking.ask(request)
    condition = asking.condition()
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("True", "ReprieveAsksForReplacement")
    assert condition["message"].startswith("rank 1 is slow (notice request-1")
    assert asking.label() == "Schedulable"
    at.withdraw(request)
    await asking.action.undo(request)
    assert asking.condition() is None


@pytest.mark.parametrize("setting", ["hyperpod", "condition:NodeFaulty=True"])
async def test_question_stays_for_another_notice_when_one_is_withdrawn(
    at: Draining, setting: str
) -> None:
    """The last one takes it off."""
    asking = Asking(at, setting)
    first, second = asking.request(), asking.request("request-2", "digest")
    at.clock.turn(FORCED_S)
    await asking.ask(first)
    await asking.ask(second)
    at.withdraw(first)
    assert await asking.action.undo(first) == "stays: another notice wants it"
    assert asking.label() == VALUE or asking.condition() is not None
    at.withdraw(second)
    await asking.action.undo(second)
    assert asking.label() == "Schedulable"
    assert asking.condition() is None


@pytest.mark.parametrize("setting", ["hyperpod", "condition:NodeFaulty=True"])
@pytest.mark.parametrize("call", ["nodes", "nodes/status"])
async def test_question_is_asked_when_a_call_has_failed_before(
    at: Draining, setting: str, call: str
) -> None:
    """It is tried again; whether the first one arrived is found out."""
    asking = Asking(at, setting)
    request = asking.request()
    await asking.ask(request)
    at.clock.turn(FORCED_S)
    for fault in (busy(), Trouble.LOST):
        at.server.faults.add(fault, verb="patch", resource=call, times=1)
    for _ in range(4):
        try:
            await asking.action.run(request)
        except ActionRetryable:
            continue
    assert asking.label() == VALUE or asking.condition() is not None
    at.withdraw(request)
    await asking.action.undo(request)
    assert (asking.label(), asking.condition()) == ("Schedulable", None)


async def test_rest_of_the_node_is_freed_when_a_policy_forbids_the_label(at: Draining) -> None:
    """What may not be written is not tried again, and holds up nothing else."""
    asking = Asking(at, "hyperpod")
    request = asking.request()

    def forbid(write: Any) -> None:  # noqa: ANN401 - the fake's own
        if (write.after["metadata"].get("labels") or {}).get(KEY) == VALUE:
            raise Refusal(422, "Invalid", "labels of SageMaker are not for this account")

    at.server.api.policies.append(forbid)
    at.clock.turn(FORCED_S)
    with pytest.raises(ActionRefused, match="admission policy"):
        await asking.action.run(request)
    await asking.desk.settle()
    at.withdraw(request)
    assert "not asked for by us" in await asking.action.undo(request)
    assert asking.label() == "Schedulable"


async def test_question_of_somebody_else_is_left_when_it_was_there_before(at: Draining) -> None:
    """HyperPod's own agent was faster."""
    at.cluster.mark_node(NODE, labels={KEY: VALUE})
    asking = Asking(at, "hyperpod")
    request = asking.request()
    at.clock.turn(FORCED_S)
    assert "somebody else" in await asking.ask(request)
    at.withdraw(request)
    await asking.action.undo(request)
    assert asking.label() == VALUE


async def test_nobody_is_asked_when_the_request_was_withdrawn_meanwhile(at: Draining) -> None:
    """Between the look at the trainers and the call."""
    asking = Asking(at, "hyperpod")
    request = asking.request()
    at.clock.turn(FORCED_S)
    at.withdraw(request)
    assert "not wanted any more" in await asking.action.run(request)
    assert asking.label() == "Schedulable"


async def test_question_of_an_earlier_boot_is_taken_back_when_the_node_is_back(
    at: Draining,
) -> None:
    """Rebooted and not replaced, it takes part again."""
    asking = Asking(at, "hyperpod")
    request = asking.request()
    at.clock.turn(FORCED_S)
    await asking.ask(request)
    at.withdraw(request)
    wishes = NodeWishes(at.state, "another-boot", at.clock)
    desk = NodeDesk(NodeApi(at.client, NODE), wishes, dict, at.board, ask_of("hyperpod"))
    await desk.keep()
    assert asking.label() == "Schedulable"


async def test_nothing_is_stored_when_it_is_a_dry_run(tmp_path: Path, clock: TurnedClock) -> None:
    """The API server only judges it."""
    async with draining(tmp_path, clock, is_dry_run=True) as at:
        asking = Asking(at, "hyperpod")
        request = asking.request()
        at.clock.turn(FORCED_S)
        with pytest.raises(ActionDryRun, match="UnschedulablePendingReplacement"):
            await asking.action.run(request)
        assert asking.label() is None
