"""Lifecycle hooks that a cluster's queue tells of: kept by the relay, and completed in time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.auto_scaling_group import Group
from tests.support.aws_bodies import body
from tests.support.clocks import TurnedClock, eventually
from tests.support.moto_aws import Moto
from tests.support.relaying import relaying
from watcher.actions.lifecycle_hook import MANAGED_TAG
from watcher.aws.hook import LifecycleHook
from watcher.errors import AwsCallFailed
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.policy import POLICY
from watcher.relay import hooks as module
from watcher.relay.hooks import LATE_S, Hooks
from watcher.sources.reading import ForInstance

INSTANCE = "i-0beef000000000003"
TERMINATES = body("asg-terminate").decode()
BEAT = f"heartbeat let-them-save {INSTANCE}"
AWAY = AwsCallFailed("Auto Scaling: no answer", outcome="timeout")
FORBIDDEN = AwsCallFailed("Auto Scaling: AccessDenied", outcome="forbidden", code="AccessDenied")


@pytest.fixture(autouse=True)
def always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look all the time whether it is time for a hook."""
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.005)


@pytest.fixture
async def group() -> AsyncIterator[Group]:
    """A group that is ours."""
    group = Group()
    yield group
    group.close()


def told(clock: TurnedClock, name: str = "asg") -> ForInstance:
    """Return a termination with a hook, as the queue tells of it."""
    notice = Notice(id=name, kind=NoticeKind.TERMINATION, source="aws_sqs", received=clock())
    hook = LifecycleHook(group="gpus", name="drain", token=name)
    return ForInstance(notice=notice, instance_id="i-1", hook=hook)


async def test_hook_is_kept_and_completed_before_its_message_is_forgotten(
    moto: Moto, clock: TurnedClock, group: Group
) -> None:
    """The notice is delivered at once; another relay would go on with the hook until the end."""
    hooks = Hooks(group, None, POLICY, clock)
    async with relaying(moto, clock, hooks=hooks) as relayed:
        await relayed.send(TERMINATES)
        await eventually(lambda: group.calls)
        assert relayed.handler.handled == {INSTANCE: 1}
        await eventually(lambda: BEAT in group.calls)
        await relayed.has(0, 1)
        clock.turn(28)
        await relayed.has(0, 0)
    assert group.calls == [
        f"tag trainers {MANAGED_TAG}",
        BEAT,
        f"complete let-them-save {INSTANCE}",
    ]


async def test_message_without_a_hook_is_forgotten_at_once(
    moto: Moto, clock: TurnedClock, group: Group
) -> None:
    """Nothing waits for it."""
    async with relaying(moto, clock, hooks=Hooks(group, 600, POLICY, clock)) as relayed:
        await relayed.send(body("spot-interruption-terminate").decode())
        await relayed.told("notice")
        await relayed.has(0, 0)
    assert group.calls == []


async def test_node_is_told_how_long_the_hook_waits_when_that_is_set(
    clock: TurnedClock, group: Group
) -> None:
    """Its own daemon drains it by then; without a hook nothing is changed."""
    hooks, one = Hooks(group, 600, POLICY, clock), told(clock)
    assert hooks.timed(one).notice.deadline == Deadline.after(clock(), 600)
    assert hooks.timed(replace(one, hook=None)).notice.deadline is None
    assert Hooks(group, None, POLICY, clock).timed(one) == one


async def test_hook_is_completed_at_once_when_its_node_is_drained(
    clock: TurnedClock, group: Group
) -> None:
    """Nothing is left on it that the time would be for; another node's end says nothing."""
    drained = {"i-2"}
    hooks = Hooks(group, 600, POLICY, clock, drained.__contains__)
    seeing = asyncio.create_task(hooks.see_off(told(clock)))
    await eventually(lambda: "heartbeat drain i-1" in group.calls)
    for _ in range(20):
        await asyncio.sleep(0.005)
    assert not seeing.done()
    drained.add("i-1")
    async with asyncio.timeout(20):
        await seeing
    assert group.calls[-1] == "complete drain i-1"


async def test_hook_of_another_group_is_left_alone(clock: TurnedClock, group: Group) -> None:
    """It carries no tag of ours."""
    group.is_ours = False
    await Hooks(group, None, POLICY, clock).see_off(told(clock))
    assert group.calls == [f"tag gpus {MANAGED_TAG}"]


@pytest.mark.parametrize(("error", "is_tried_again"), [(AWAY, True), (FORBIDDEN, False)])
async def test_hook_runs_out_when_it_can_not_be_completed(
    clock: TurnedClock, group: Group, error: AwsCallFailed, *, is_tried_again: bool
) -> None:
    """Its message does not come again for that for ever."""
    group.fails_with = error
    seeing = asyncio.create_task(Hooks(group, None, POLICY, clock).see_off(told(clock)))
    if is_tried_again:
        await eventually(lambda: len(group.calls) > 2)
        clock.turn(30 + LATE_S)
    async with asyncio.timeout(20):
        await seeing
    assert (len(group.calls) > 2) is is_tried_again


async def test_hook_is_kept_once_when_two_messages_tell_of_it(
    clock: TurnedClock, group: Group
) -> None:
    """As where a rule and a notification target are both set up."""
    hooks, one = Hooks(group, None, POLICY, clock), told(clock)
    first = asyncio.create_task(hooks.see_off(one))
    await eventually(lambda: len(group.calls) == 2)
    await hooks.see_off(one)
    clock.turn(30)
    await first
    assert [call.split()[0] for call in group.calls] == ["tag", "heartbeat", "complete"]


async def test_hooks_beyond_the_limit_run_out_and_hold_no_messages(
    clock: TurnedClock, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay that has its hands full would receive no notice any more."""
    monkeypatch.setattr(module, "HOOKS_LIMIT", 1)
    hooks = Hooks(group, None, POLICY, clock)
    first = asyncio.create_task(hooks.see_off(told(clock)))
    await eventually(lambda: group.calls)
    await hooks.see_off(told(clock, "second"))
    clock.turn(30)
    await first
    assert [call for call in group.calls if call.startswith("complete")] == ["complete drain i-1"]


async def test_hook_waits_for_as_long_as_its_node_was_told(
    moto: Moto, clock: TurnedClock, group: Group
) -> None:
    """One deadline for both, and heartbeats until then."""
    async with relaying(moto, clock, hooks=Hooks(group, 600, POLICY, clock)) as relayed:
        await relayed.send(TERMINATES)
        for beats in (1, 2, 3):
            await eventually(lambda: group.calls.count(BEAT) == beats)  # noqa: B023 - awaited here
            clock.turn(60)
        assert not any(call.startswith("complete") for call in group.calls)
        clock.turn(420)
        await relayed.has(0, 0)
    assert group.calls[-1].startswith("complete")
