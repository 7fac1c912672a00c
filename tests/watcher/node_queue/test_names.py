"""What a queue is called, and whose it is by that."""

import pytest

from watcher.errors import ConfigError
from watcher.node_queue.names import Place, checked_instance_id

TOPIC = "arn:aws-cn:sns:cn-north-1:123456789012:reprieve-notices"
INSTANCE = "i-0abc000000000001"


def test_queue_is_named_by_its_instance_when_the_topic_is_known() -> None:
    """As deploy/aws/node-topic.yaml allows it; the partition is the topic's."""
    place = Place.of(TOPIC, "reprieve")
    name = f"reprieve-node-{INSTANCE}"
    assert place.queue(INSTANCE) == name
    assert place.queue_arn(name) == f"arn:aws-cn:sqs:cn-north-1:123456789012:{name}"
    for spelt in (name, place.queue_arn(name), f"https://sqs.cn-north-1.x/123456789012/{name}"):
        assert place.instance_of(spelt) == INSTANCE


@pytest.mark.parametrize(
    "name", ["reprieve-node-dead", "reprieve-node-", "other-node-i-0abc000000000001", "reprieve"]
)
def test_queue_is_nobodys_when_its_name_is_no_instances(name: str) -> None:
    """So that it is neither swept nor read."""
    assert Place.of(TOPIC, "reprieve").instance_of(name) is None


@pytest.mark.parametrize(
    ("topic", "name"),
    [("reprieve-notices", "reprieve"), (TOPIC, ""), (TOPIC, "a/b"), (TOPIC, "x" * 41)],
)
def test_place_is_refused_when_nothing_can_be_there(topic: str, name: str) -> None:
    """In words that name the option."""
    with pytest.raises(ConfigError, match="--"):
        Place.of(topic, name)


@pytest.mark.parametrize("text", ["", "i-", "i-xyz", "0abc000000000001", "i-0abc000000000001\n"])
def test_instance_id_is_refused_when_it_is_none(text: str) -> None:
    """Such as what a proxy says in the metadata service's place."""
    with pytest.raises(ConfigError):
        checked_instance_id(text)
