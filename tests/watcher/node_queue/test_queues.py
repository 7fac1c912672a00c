"""Nodes' queues on moto's SQS and SNS: made, made again, removed, swept."""

import json

import pytest

from tests.support.moto_aws import Moto, spot_warning
from tests.support.node_queues import GONE, INSTANCE, queue_command
from watcher.node_queue import command, subscriptions
from watcher.node_queue.filter import filter_policy
from watcher.node_queue.names import Place
from watcher.node_queue.queues import NodeQueues


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
    [(subscription, endpoint)] = queues.subscriptions.all()
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
    [(subscription, _)] = queues.subscriptions.all()
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
    [(again, _)] = queues.subscriptions.all()
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
        assert [arn for _, arn in queues.subscriptions.all()] == [
            place.queue_arn(place.queue(GONE))
        ]


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
    assert [*queues.urls(), *queues.subscriptions.all()] == []


def test_no_queue_is_left_when_there_is_no_such_topic(
    place: Place, queues: NodeQueues, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be nobody's, and never filled. One line says why, with the status of a refusal."""
    nowhere = Place.of(place.topic_arn + "-missing", place.name)
    assert queue_command(nowhere, "create", f"--instance-id={INSTANCE}") == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("reprieve-watcher: SNS ListSubscriptionsByTopic: NotFound")
    assert list(queues.urls()) == []


def test_queue_is_taken_away_again_when_its_subscription_is_refused(
    place: Place, queues: NodeQueues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the topic has all the filters it can have; one that was there before stays."""
    monkeypatch.setattr(subscriptions, "filter_policy", lambda _: {"detail": {"odd": [[[1]]]}})
    assert queue_command(place, "create", f"--instance-id={INSTANCE}") == 1
    assert list(queues.urls()) == []
    for step in queues.creation(GONE, None)[:1]:
        step.make()
    assert queue_command(place, "create", f"--instance-id={GONE}") == 1
    assert [place.instance_of(url) for url in queues.urls()] == [GONE]


def test_one_object_says_what_was_done_when_asked_for_json(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """For programs, with the URL in it, and with what was done before a refusal."""
    queue, instance = place.queue(INSTANCE), f"--instance-id={INSTANCE}"
    expected = [{"what": what, "outcome": "done"} for what in (f"make queue {queue}",)]
    assert queue_command(place, "create", instance, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["steps"] == [*expected, {"what": f"subscribe {queue}", "outcome": "done"}]
    assert made["queue_url"].endswith(f"/{queue}")
    assert queue_command(place, "delete", instance, "--json", "--dry-run") == 0
    shown = json.loads(capsys.readouterr().out)
    assert {step["outcome"] for step in shown["steps"]} == {"dry_run"}
    assert (shown["dry_run"], shown["queue_url"], len(shown["steps"])) == (True, None, 2)
    assert queue_command(place, "delete", instance) == 0
    capsys.readouterr()
    assert queue_command(place, "delete", instance, "--json") == 0
    gone = json.loads(capsys.readouterr().out)
    assert gone["steps"] == [{"what": f"delete queue {queue}", "outcome": "no_queue"}]


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
    [(subscription, _)] = queues.subscriptions.all()
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
