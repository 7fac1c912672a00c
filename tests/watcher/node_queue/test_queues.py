"""Nodes' queues on moto's SQS and SNS: made, made again, removed, swept."""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest
from lab.moto import REGION

from tests.support.moto_aws import Moto, spot_warning
from watcher import cli
from watcher.aws.ec2 import Ec2
from watcher.node_queue import command, sweep
from watcher.node_queue.filter import filter_policy
from watcher.node_queue.names import Place
from watcher.node_queue.queues import NodeQueues

INSTANCE = "i-0abc000000000001"
GONE = "i-0abc00000000dead"


@pytest.fixture
def place(moto: Moto) -> Place:
    """A topic of the test's own, and a name for its queues."""
    name = f"t{uuid.uuid4().hex[:12]}"
    return Place.of(str(moto.call("sns", "create_topic", Name=name)["TopicArn"]), name)


@pytest.fixture
def queues(place: Place) -> Iterator[NodeQueues]:
    """The queues beside the topic."""
    with closing(NodeQueues(place)) as made:
        yield made


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the tests' logging as it is."""
    monkeypatch.setattr(cli, "start_logging", lambda *_: None)


def queue_command(place: Place, *arguments: str) -> object:
    """Run ``reprieve-watcher queue`` in this process, and return its exit status."""
    what, *rest = arguments
    topic = f"--topic-arn={place.topic_arn}"
    with pytest.raises(SystemExit) as caught:
        cli.main(["queue", what, topic, f"--name={place.name}", *rest])
    return caught.value.code


def attributes(moto: Moto, place: Place, instance_id: str) -> dict[str, str]:
    """Return a queue's attributes."""
    url = moto.call("sqs", "get_queue_url", QueueName=place.queue(instance_id))["QueueUrl"]
    answer = moto.call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["All"])
    return dict(answer["Attributes"])


def test_queue_is_subscribed_filtered_and_open_to_the_topic_alone_when_it_is_made(
    moto: Moto, place: Place, queues: NodeQueues, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its URL is all that goes to standard output, fit for a variable."""
    assert queue_command(place, "create", f"--instance-id={INSTANCE}") == 0
    url = capsys.readouterr().out.strip()
    assert url.endswith(f"/{place.name}-node-{INSTANCE}")
    found = attributes(moto, place, INSTANCE)
    assert found["QueueArn"] == place.queue_arn(place.queue(INSTANCE))
    assert found["MessageRetentionPeriod"] == "300"
    [statement] = json.loads(found["Policy"])["Statement"]
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": place.topic_arn}}
    [(subscription, endpoint)] = queues.subscriptions()
    assert endpoint == found["QueueArn"]
    answer = moto.call("sns", "get_subscription_attributes", SubscriptionArn=subscription)
    assert json.loads(answer["Attributes"]["FilterPolicy"]) == filter_policy(INSTANCE)
    assert answer["Attributes"]["FilterPolicyScope"] == "MessageBody"
    assert answer["Attributes"]["RawMessageDelivery"] == "true"


def test_queue_is_only_set_right_when_it_is_made_again(
    moto: Moto, place: Place, queues: NodeQueues
) -> None:
    """An instance that starts anew, or a filter that was changed by hand, is no error."""
    assert queue_command(place, "create", f"--instance-id={INSTANCE}") == 0
    [(subscription, _)] = queues.subscriptions()
    moto.call(
        "sns",
        "set_subscription_attributes",
        SubscriptionArn=subscription,
        AttributeName="FilterPolicy",
        AttributeValue="{}",
    )
    url = queues.url(place.queue(INSTANCE))
    changed = {"MessageRetentionPeriod": "60"}
    moto.call("sqs", "set_queue_attributes", QueueUrl=url, Attributes=changed)
    dead = moto.arn(moto.queue())
    arguments = (f"--instance-id={INSTANCE}", f"--dead-letter-arn={dead}")
    assert queue_command(place, "create", *arguments) == 0
    found = attributes(moto, place, INSTANCE)
    assert found["MessageRetentionPeriod"] == "300"
    redrive = json.loads(found["RedrivePolicy"])
    assert redrive == {"deadLetterTargetArn": dead, "maxReceiveCount": 20}
    [(again, _)] = queues.subscriptions()
    answer = moto.call("sns", "get_subscription_attributes", SubscriptionArn=again)
    assert json.loads(answer["Attributes"]["FilterPolicy"]) == filter_policy(INSTANCE)


def test_queue_and_subscription_are_gone_when_it_is_deleted_once_or_twice(
    place: Place, queues: NodeQueues
) -> None:
    """Nothing there is what was wanted."""
    assert queue_command(place, "create", f"--instance-id={INSTANCE}") == 0
    assert queue_command(place, "create", f"--instance-id={GONE}") == 0
    for _ in range(2):
        assert queue_command(place, "delete", f"--instance-id={INSTANCE}") == 0
        assert [url.rpartition("/")[2] for url in queues.urls()] == [place.queue(GONE)]
        assert [arn for _, arn in queues.subscriptions()] == [place.queue_arn(place.queue(GONE))]


def test_nothing_is_changed_when_it_is_a_dry_run(
    place: Place, queues: NodeQueues, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what it would do, and no URL that is not there."""
    arguments = (f"--instance-id={INSTANCE}", "--dry-run")
    assert queue_command(place, "create", *arguments) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    queue = place.queue(INSTANCE)
    assert captured.err.splitlines() == [f"would make queue {queue}", f"would subscribe {queue}"]
    assert [*queues.urls(), *queues.subscriptions()] == []


@pytest.fixture
def there(moto: Moto) -> str:
    """An instance that runs."""
    image = moto.call("ec2", "describe_images")["Images"][0]["ImageId"]
    made = moto.call("ec2", "run_instances", ImageId=image, MinCount=1, MaxCount=1)
    return str(made["Instances"][0]["InstanceId"])


def swept(place: Place, queues: NodeQueues, *, hours: float) -> list[str]:
    """Sweep as if so many hours had passed; return what was done."""
    done = []
    with closing(Ec2(REGION)) as ec2:
        for step in sweep.sweeping(queues, ec2, place, time.time() + hours * 3600):
            step.make()
            done.append(step.what.split()[0])
    return done


def test_only_what_ended_instances_have_left_is_swept_up_when_it_is_old(
    moto: Moto, place: Place, queues: NodeQueues, there: str
) -> None:
    """A queue may be older than what EC2 shows of its instance; a name not ours is not touched."""
    for instance in (there, GONE):
        assert queue_command(place, "create", f"--instance-id={instance}") == 0
    foreign = moto.queue(f"{place.prefix}of-somebody-else")
    assert swept(place, queues, hours=0) == []
    assert swept(place, queues, hours=2) == ["delete", "unsubscribe"]
    assert [place.instance_of(url) for url in queues.urls()] == [there]
    assert [arn for _, arn in queues.subscriptions()] == [place.queue_arn(place.queue(there))]
    assert moto.counts(foreign) == (0, 0)
    assert swept(place, queues, hours=2) == []


def test_subscription_is_swept_up_when_its_queue_was_deleted_by_hand(
    moto: Moto, place: Place, queues: NodeQueues
) -> None:
    """It would count towards the topic's 200 for ever."""
    assert queue_command(place, "create", f"--instance-id={GONE}") == 0
    moto.call("sqs", "delete_queue", QueueUrl=queues.url(place.queue(GONE)))
    assert queue_command(place, "sweep", "--dry-run") == 0
    assert len(list(queues.subscriptions())) == 1
    assert queue_command(place, "sweep") == 0
    assert list(queues.subscriptions()) == []


def test_command_ends_with_one_line_when_aws_refuses(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """What AWS says, and the exit status of a failure that may pass."""
    nowhere = Place.of(place.topic_arn + "-missing", place.name)
    assert queue_command(nowhere, "create", f"--instance-id={INSTANCE}") == 1
    assert "SNS" in capsys.readouterr().err.splitlines()[-1]


def test_command_asks_the_metadata_service_when_no_instance_is_named(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where that does not answer either, it says what to give."""
    monkeypatch.setenv("REPRIEVE_AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    assert queue_command(place, "create") == 78
    assert "give --instance-id, because" in capsys.readouterr().err
    monkeypatch.setattr(command, "_asked", _answers)
    assert queue_command(place, "create") == 0
    assert INSTANCE in capsys.readouterr().out


async def _answers(*_: object) -> str:
    return INSTANCE


def test_published_message_lies_in_the_queue_as_it_was_said(
    moto: Moto, place: Place, queues: NodeQueues
) -> None:
    """Without an envelope; moto does not know ``$or``, so the filter is taken off for this."""
    assert queue_command(place, "create", f"--instance-id={INSTANCE}") == 0
    [(subscription, _)] = queues.subscriptions()
    moto.call(
        "sns",
        "set_subscription_attributes",
        SubscriptionArn=subscription,
        AttributeName="FilterPolicy",
        AttributeValue="{}",
    )
    said = spot_warning(INSTANCE)
    moto.call("sns", "publish", TopicArn=place.topic_arn, Message=said)
    url = queues.url(place.queue(INSTANCE))
    answer = moto.call("sqs", "receive_message", QueueUrl=url)
    assert [message["Body"] for message in answer["Messages"]] == [said]
