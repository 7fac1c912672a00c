"""Who the instance is: what is believed of its metadata, and what is not."""

import pytest

from watcher.errors import SourceMalformed
from watcher.sources.aws_instance import AwsInstance, parse_instance_id

DOCUMENT = b"""{
  "accountId": "123456789012", "availabilityZone": "us-east-1a", "region": "us-east-1",
  "instanceId": "i-0123456789abcdef0", "instanceType": "p5.48xlarge", "billingProducts": null
}"""


def test_instance_is_known_by_its_identity_document_when_it_has_one() -> None:
    """The facts that people and queues ask for, in the cloud's own words."""
    facts: dict[str, str] = {}
    instance = AwsInstance(facts)
    instance.learn_identity(DOCUMENT)
    assert instance.instance_id == "i-0123456789abcdef0"
    assert facts["region"] == "us-east-1"
    assert "billingProducts" not in facts


def test_instance_keeps_its_first_id_when_another_is_told() -> None:
    """An id is part of a notice's id: another one would make a new notice of an old one."""
    instance = AwsInstance({})
    instance.learn_id(b"i-1a2b3c4d\n")
    instance.learn_identity(DOCUMENT)
    assert instance.instance_id == "i-1a2b3c4d"


@pytest.mark.parametrize("word", ["spot", "on-demand", "scheduled", "capacity-block", "x9-new"])
def test_life_cycle_is_any_word_when_it_is_one(word: str) -> None:
    """The set is open, and nothing depends on it."""
    facts: dict[str, str] = {}
    AwsInstance(facts).learn_life_cycle(word.encode() + b"\n")
    assert facts == {"instanceLifeCycle": word}


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"null", b"{}", b'{"instanceId": 7}', b'{"instanceId": "<b>"}']
)
def test_instance_learns_nothing_when_the_answer_is_not_ec2s(body: bytes) -> None:
    """A typed refusal each time, and no half of a fact."""
    facts: dict[str, str] = {}
    instance = AwsInstance(facts)
    for learn in (instance.learn_identity, instance.learn_id, instance.learn_life_cycle):
        if learn != instance.learn_life_cycle or body != b"null":
            with pytest.raises(SourceMalformed):
                learn(body)
    assert (instance.instance_id, facts) == (None, {})


@pytest.mark.parametrize("body", [b"0123", b"i-", b"i-a b", b"\xffi-1", b"i-" + b"1" * 200])
def test_instance_id_is_none_when_it_does_not_look_like_one(body: bytes) -> None:
    """It becomes part of ids and file contents."""
    assert parse_instance_id(body) is None
