"""The daemon as a process on both roads: the simulator's metadata service and a queue of moto's.

The body is what EventBridge has made of an event that was put on its bus.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.aws_bodies import body
from tests.support.clocks import eventually
from tests.support.moto_aws import Moto, spot_warning
from tests.support.watcher_process import WatcherProcess, control, daemon_process
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e

ME = "i-0123456789abcdef0"
"""Who we are, as the simulator has it."""


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated metadata service whose notices the test issues."""
    async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


@pytest.fixture
def queue(moto: Moto) -> str:
    """A queue that EventBridge fills with what EC2 says."""
    url = moto.queue()
    pattern = json.dumps({"source": ["aws.ec2"]})
    name = url.rpartition("/")[2]
    moto.call("events", "put_rule", Name=name, EventPattern=pattern)
    moto.call("events", "put_targets", Rule=name, Targets=[{"Id": "q", "Arn": moto.arn(url)}])
    return url


@pytest.fixture
def topic(moto: Moto, queue: str) -> str:
    """A topic that wraps what it is told and puts it into the queue; its ARN."""
    made = moto.call("sns", "create_topic", Name=queue.rpartition("/")[2])
    arn = str(made["TopicArn"])
    moto.call("sns", "subscribe", TopicArn=arn, Protocol="sqs", Endpoint=moto.arn(queue))
    return arn


async def put_event(moto: Moto, instance_id: str, title: str, **said: str) -> None:
    """Say something about an instance on the bus."""
    entry = {
        "Time": datetime.now(UTC),
        "Source": "aws.ec2",
        "DetailType": title,
        "Detail": json.dumps({"instance-id": instance_id, **said}),
    }
    await asyncio.to_thread(moto.call, "events", "put_events", Entries=[entry])


async def put_warning(moto: Moto, instance_id: str) -> None:
    """Say that an instance is interrupted."""
    title = "EC2 Spot Instance Interruption Warning"
    await put_event(moto, instance_id, title, **{"instance-action": "terminate"})


def daemon(run_dir: Path, cloud: str, queue: str) -> AbstractAsyncContextManager[WatcherProcess]:
    """Run the daemon inside the block, on both roads."""
    return daemon_process(run_dir, cloud, NO_PROXY="127.0.0.1", REPRIEVE_AWS_QUEUE_URL=queue)


async def test_event_becomes_a_flag_and_its_message_is_deleted_when_it_is_for_us(
    moto: Moto, queue: str, cloud: str, run_dir: Path
) -> None:
    """Another node's warning is in the same queue, and stays there."""
    async with daemon(run_dir, cloud, queue) as watcher:
        await put_warning(moto, "i-0123456789abcdef1")
        await put_warning(moto, ME)
        flag = await watcher.shows("stop")
        assert (flag["source"], flag["kind"], flag["instance_id"]) == ("aws_sqs", "preemption", ME)
        assert 0 < flag["deadline_boottime_s"] - flag["written_boottime_s"] <= 120
        await moto.becomes(queue, (0, 1))
        state = await watcher.state()
        assert set(state["sources"]) == {"aws_imds", "aws_sqs"}
        assert (await watcher.ask("/readyz"))[0] == 200
        assert await watcher.said("message foreign")


async def test_flag_is_the_same_when_messages_come_twice_late_and_out_of_order(
    moto: Moto, queue: str, cloud: str, run_dir: Path
) -> None:
    """Two warnings are two notices of one instance; however often each is said, it counts once."""
    said = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    first, second = (spot_warning(ME, f"event-{number}", said) for number in (1, 2))
    async with daemon(run_dir, cloud, queue) as watcher:
        await asyncio.to_thread(moto.send, queue, [second, first, second, first])
        await watcher.shows("stop")
        await moto.becomes(queue, (0, 0))
        flag = watcher.flag()
        await asyncio.to_thread(moto.send, queue, [first, second])
        await eventually(lambda: watcher.log.count("all is done about it") >= 2)
        await moto.becomes(queue, (0, 0))
        assert watcher.flag() == flag
        assert flag is not None
        assert len({flag["id"], *flag["also"]}) == 2
        assert await watcher.said("notice admitted", times=2) == 2


async def test_earlier_deadline_counts_when_both_roads_tell_of_one_instance(
    moto: Moto, queue: str, cloud: str, run_dir: Path
) -> None:
    """One flag names both reasons; the queue's warning alone would leave two minutes."""
    async with daemon(run_dir, cloud, queue) as watcher:
        await put_warning(moto, ME)
        told = await watcher.shows("stop")
        await control(cloud, "notice", window_s=60)
        await eventually(lambda: (watcher.flag() or told)["source"] == "aws_imds")
        flag = watcher.flag()
        assert flag is not None
        assert flag["deadline_boottime_s"] < told["deadline_boottime_s"]
        assert flag["also"] == [told["id"]]


async def test_one_flag_names_all_reasons_when_a_fact_comes_wrapped_raw_and_by_metadata_at_once(
    moto: Moto, queue: str, topic: str, cloud: str, run_dir: Path
) -> None:
    """Wrapped and raw it is one notice, by metadata another; the earliest deadline counts."""
    said = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    event = spot_warning(ME, "event-1", said)
    async with daemon(run_dir, cloud, queue) as watcher:
        await watcher.answers("/readyz", 200)
        await asyncio.gather(
            asyncio.to_thread(moto.call, "sns", "publish", TopicArn=topic, Message=event),
            asyncio.to_thread(moto.send, queue, [event]),
            control(cloud, "notice", window_s=60),
        )
        await eventually(lambda: (watcher.flag() or {}).get("also"))
        await moto.becomes(queue, (0, 0))
        await eventually(lambda: watcher.log.count("message duplicate") == 1)
        flag = watcher.flag()
        assert flag is not None
        assert (flag["source"], flag["kind"]) == ("aws_imds", "preemption")
        assert flag["also"] == [f"aws-spot-warning-terminate-event-1-{ME}"]
        notices = (await watcher.state())["in_force"]
        assert {notice["source"] for notice in notices} == {"aws_imds", "aws_sqs"}
        assert flag["id"] == min(notices, key=lambda notice: notice["deadline_unix_s"])["id"]
        assert await watcher.said("notice admitted", times=2) == 2


def reboot(in_days: int) -> str:
    """Return AWS Health's word that the node's host will be serviced."""
    starts = datetime.now(UTC) + timedelta(days=in_days)
    message = json.loads(body("health-reboot"))
    message["detail"]["affectedEntities"] = [{"entityValue": ME}]
    message["detail"]["startTime"] = starts.strftime("%a, %d %b %Y %H:%M:%S GMT")
    return json.dumps(message)


async def test_plan_is_there_again_when_the_daemon_was_killed_after_its_message_was_deleted(
    moto: Moto, queue: str, cloud: str, run_dir: Path
) -> None:
    """Days ahead no queue has it any more; the state file has."""
    async with daemon(run_dir, cloud, queue) as watcher:
        await asyncio.to_thread(moto.send, queue, [reboot(10)])
        await eventually(lambda: "notice planned" in watcher.log)
        await moto.becomes(queue, (0, 0))
        [before] = (await watcher.state())["planned"]
        await watcher.end(signal.SIGKILL)
    async with daemon(run_dir, cloud, queue) as watcher:
        await eventually(lambda: watcher.log.count("notice planned") == 2)
        await eventually(lambda: watcher.log.count("ready listen=") == 2)
        [after] = (await watcher.state())["planned"]
        assert watcher.flag() is None
    assert {**after, "actions": {}} == {**before, "actions": {}}


async def test_every_notice_is_in_force_again_when_the_daemon_was_killed(
    moto: Moto, queue: str, cloud: str, run_dir: Path
) -> None:
    """The flag itself carries only the most urgent one over."""
    said = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    async with daemon(run_dir, cloud, queue) as watcher:
        warnings = [spot_warning(ME, f"event-{number}", said) for number in (1, 2)]
        await asyncio.to_thread(moto.send, queue, warnings)
        await moto.becomes(queue, (0, 0))
        await eventually(lambda: (watcher.flag() or {}).get("also"))
        before = watcher.flag()
        await watcher.end(signal.SIGKILL)
    watcher.flag_path.unlink()
    async with daemon(run_dir, cloud, queue) as watcher:
        await eventually(lambda: (watcher.flag() or {}).get("also"))
        after = watcher.flag()
    assert before is not None
    assert after is not None
    assert {after["id"], *after["also"]} == {before["id"], *before["also"]}
