"""What a sweep removes of what ended instances have left on moto, and what it leaves."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest
from lab.moto import REGION

from tests.support.moto_aws import Moto
from tests.support.node_queues import GONE, INSTANCE, queue_command
from watcher.aws.boto import LazyClient
from watcher.aws.ec2 import Ec2
from watcher.errors import AwsCallFailed
from watcher.node_queue.names import Place
from watcher.node_queue.queues import NodeQueues
from watcher.node_queue.sweep import Sweep


@pytest.fixture(autouse=True)
def ec2(moto: Moto) -> None:
    """Let moto make its EC2, which may take longer than a sweep would wait for it."""
    moto.call("ec2", "describe_instances")


@pytest.fixture
def there(moto: Moto) -> str:
    """An instance that runs."""
    made = moto.call("ec2", "run_instances", ImageId="ami-0a1b2c3d", MinCount=1, MaxCount=1)
    return str(made["Instances"][0]["InstanceId"])


def make(queues: NodeQueues, instance_id: str) -> None:
    """Make an instance's queue, and subscribe it."""
    for step in queues.creation(instance_id, None):
        step.make()


def swept(queues: NodeQueues, *, hours: float) -> list[tuple[str, str]]:
    """Sweep as if so many hours had passed; return the verbs of what was done, and the outcomes."""
    with closing(Ec2(REGION)) as ec2:
        sweep = Sweep(queues, ec2, time.time() + hours * 3600, lambda _line: None)
        return [(step.what.split()[0], str(step.make())) for step in sweep.steps()]


def listing(queues: NodeQueues, monkeypatch: pytest.MonkeyPatch, urls: list[str]) -> None:
    """Let SQS list these queues, whichever there are: for a minute it may, moto never does."""

    def listed(_self: NodeQueues) -> Iterator[str]:
        yield from urls

    monkeypatch.setattr(NodeQueues, "urls", listed)
    assert list(queues.urls()) == urls


def test_only_what_ended_instances_have_left_is_swept_up_when_it_is_old(
    moto: Moto, place: Place, queues: NodeQueues, there: str
) -> None:
    """A queue may be older than what EC2 shows of its instance; a name not ours is not touched."""
    for instance in (there, GONE):
        make(queues, instance)
    foreign = moto.queue(f"{place.prefix}of-somebody-else")
    assert swept(queues, hours=0) == []
    assert swept(queues, hours=2) == [("delete", "done"), ("unsubscribe", "done")]
    assert [place.instance_of(url) for url in queues.urls()] == [there]
    assert [arn for _, arn in queues.subscriptions.all()] == [place.queue_arn(place.queue(there))]
    assert moto.counts(foreign) == (0, 0)
    assert swept(queues, hours=2) == []


@pytest.mark.parametrize(
    ("protocol", "endpoint"),
    [
        ("https", "https://example.com/{queue}"),
        ("sqs", "arn:aws:sqs:us-east-1:999999999999:{queue}"),
        ("sqs", "arn:aws:sqs:eu-west-1:123456789012:{queue}"),
    ],
)
def test_subscription_stays_when_its_endpoint_only_ends_in_the_name_of_a_queue(
    moto: Moto, place: Place, queues: NodeQueues, protocol: str, endpoint: str
) -> None:
    """Of another account EC2 shows us no instance, so each of its nodes would look gone."""
    foreign = endpoint.format(queue=place.queue(GONE))
    moto.call("sns", "subscribe", TopicArn=place.topic_arn, Protocol=protocol, Endpoint=foreign)
    assert swept(queues, hours=2) == []
    assert list(queues.subscriptions.all()) == []
    told = moto.call("sns", "list_subscriptions_by_topic", TopicArn=place.topic_arn)
    assert [one["Endpoint"] for one in told["Subscriptions"]] == [foreign]


def test_subscription_is_swept_up_when_its_queue_was_deleted_by_hand(
    moto: Moto, place: Place, queues: NodeQueues
) -> None:
    """It would count towards the topic's 200 for ever."""
    make(queues, GONE)
    moto.call("sqs", "delete_queue", QueueUrl=queues.url(place.queue(GONE)))
    assert queue_command(place, "sweep", "--dry-run") == 0
    assert len(list(queues.subscriptions.all())) == 1
    assert queue_command(place, "sweep") == 0
    assert list(queues.subscriptions.all()) == []


def test_sweep_goes_on_when_a_listed_queue_is_gone(
    moto: Moto, place: Place, queues: NodeQueues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQS lists a deleted queue for up to a minute; what comes after it is swept all the same."""
    for instance in (INSTANCE, GONE):
        make(queues, instance)
    urls = list(queues.urls())
    moto.call("sqs", "delete_queue", QueueUrl=queues.url(place.queue(INSTANCE)))
    listing(queues, monkeypatch, urls)
    assert swept(queues, hours=2) == [
        ("delete", "no_queue"),
        ("unsubscribe", "done"),
        ("delete", "done"),
        ("unsubscribe", "done"),
    ]
    assert list(queues.subscriptions.all()) == []


@pytest.mark.parametrize(
    ("hours", "done"), [(0, []), (2, [("delete", "done"), ("unsubscribe", "done")])]
)
def test_subscription_is_judged_by_its_queue_when_that_is_not_listed_yet(
    queues: NodeQueues,
    monkeypatch: pytest.MonkeyPatch,
    hours: float,
    done: list[tuple[str, str]],
) -> None:
    """A node that has just made both would lose every notice of its queue."""
    make(queues, GONE)
    listing(queues, monkeypatch, [])
    assert swept(queues, hours=hours) == done


class Endless:
    """Stands for SQS or SNS with lists that have no end."""

    def list_queues(self, **_: object) -> Mapping[str, Any]:
        """Return a page of none, which is not the last."""
        return {"NextToken": "more"}

    list_subscriptions_by_topic = list_queues


@pytest.mark.parametrize("service", ["sqs", "sns"])
def test_sweep_fails_when_a_list_has_no_end(
    queues: NodeQueues, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    """Part of a list would pass for all that there is."""
    get = LazyClient.get

    def got(client: LazyClient) -> object:
        return Endless() if client._service == service else get(client)

    monkeypatch.setattr(LazyClient, "get", got)
    with pytest.raises(AwsCallFailed, match="has no end"):
        swept(queues, hours=2)


def test_progress_goes_to_standard_error_when_a_sweep_is_shown_as_json(
    moto: Moto, place: Place, queues: NodeQueues, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many there are, and which of them it is at."""
    make(queues, GONE)
    moto.call("sqs", "delete_queue", QueueUrl=queues.url(place.queue(GONE)))
    [(subscription, _)] = queues.subscriptions.all()
    capsys.readouterr()
    assert queue_command(place, "sweep", "--json") == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "0 queues, 1 subscribed, of 1 instances",
        f"{GONE} is gone, 1 of 1",
        f"unsubscribe {subscription}",
    ]
    assert json.loads(out) == {
        "dry_run": False,
        "queue_url": None,
        "steps": [{"what": f"unsubscribe {subscription}", "outcome": "done"}],
    }
