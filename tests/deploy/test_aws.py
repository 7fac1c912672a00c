"""The templates are valid, let every notice through once, and permit no more than they say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency
from cfnlint.api import lint

from tests.support.aws_bodies import MESSAGES, body, read
from tests.support.event_patterns import matches
from watcher.errors import SourceMalformed
from watcher.node_queue.filter import filter_policy
from watcher.sources.reading import ForInstance, Notices

FILES = Path(__file__).parents[2] / "deploy" / "aws"
TEMPLATES = ("fleet-queue.yaml", "node-topic.yaml")
README = (FILES / "README.md").read_text()


class Template(yaml.SafeLoader):  # type: ignore[misc]  # untyped, see above
    """Reads CloudFormation's short functions as their text, such as ``!Ref Queue``."""


Template.add_multi_constructor(
    "!", lambda _, suffix, node: f"!{suffix} {node.value if isinstance(node.value, str) else ''}"
)


def resources(name: str) -> dict[str, Any]:
    """Return the resources of a template."""
    loaded = yaml.load((FILES / name).read_text(), Loader=Template)  # noqa: S506 - a SafeLoader
    found: dict[str, Any] = loaded["Resources"]
    return found


def of_type(name: str, kind: str) -> dict[str, Any]:
    """Return the properties of a template's resources of one type."""
    return {
        key: resource.get("Properties", {})
        for key, resource in resources(name).items()
        if resource["Type"] == kind
    }


def rules(name: str = TEMPLATES[0]) -> dict[str, dict[str, Any]]:
    """Return the event patterns of a template."""
    return {
        key: properties["EventPattern"]
        for key, properties in of_type(name, "AWS::Events::Rule").items()
    }


def on_the_bus() -> dict[str, dict[str, Any]]:
    """Return the bodies that EventBridge would have, spelt as it does."""
    events = {name: json.loads(body(name)) for name in MESSAGES}
    return {
        name: {key.replace("_type", "-type"): value for key, value in event.items()}
        for name, event in events.items()
        if event.keys() & {"detail-type", "detail_type"}
    }


def addressees(name: str) -> list[str]:
    """Return whom a message's notices are for."""
    try:
        reading = read(body(name))
    except SourceMalformed:
        return []
    if not isinstance(reading, Notices):
        return []
    return [
        told.instance_id if isinstance(told, ForInstance) else told.reservation_id
        for told in reading.addressed
    ]


@pytest.mark.parametrize("name", TEMPLATES)
def test_template_is_valid_when_held_against_the_schemas(name: str) -> None:
    """CloudFormation's own, which come with cfn-lint."""
    found = [str(problem) for problem in lint((FILES / name).read_text())]
    assert found == []


def test_templates_have_the_same_rules_when_compared() -> None:
    """What is heard does not depend on the road."""
    assert rules(TEMPLATES[0]) == rules(TEMPLATES[1])


@pytest.mark.parametrize("name", sorted(on_the_bus()))
def test_rules_let_a_message_through_once_when_it_is_a_notice(name: str) -> None:
    """No kind slips through, and none comes twice."""
    let_through = [
        rule for rule, pattern in rules().items() if matches(pattern, on_the_bus()[name])
    ]
    if addressees(name):
        assert len(let_through) == 1


@pytest.mark.parametrize(
    "name",
    [
        "state-change-pending",
        "state-change-running",
        "asg-launch",
        "health-issue",
        "health-other-service",
        "capacity-block-delivered",
        "capacity-block-reservation-delivered",
    ],
)
def test_rules_keep_a_message_back_when_it_never_is_a_notice(name: str) -> None:
    """A fleet that grows would otherwise be heard all day."""
    assert not any(matches(pattern, on_the_bus()[name]) for pattern in rules().values())


@pytest.mark.parametrize("name", TEMPLATES)
def test_rules_pass_the_whole_event_on_when_they_match(name: str) -> None:
    """An input path or transformer would leave something that is refused."""
    for rule in of_type(name, "AWS::Events::Rule").values():
        [target] = rule["Targets"]
        assert target.keys() == {"Id", "Arn", "RetryPolicy"}


def test_fleet_queue_is_short_lived_encrypted_and_has_a_dead_letter_queue() -> None:
    """And a message is given up before it expires."""
    queues = of_type("fleet-queue.yaml", "AWS::SQS::Queue")
    queue = queues["Queue"]
    assert all(each["SqsManagedSseEnabled"] for each in queues.values())
    assert queue["MessageRetentionPeriod"] == 300
    redrive = queue["RedrivePolicy"]
    assert redrive["deadLetterTargetArn"] == "!GetAtt DeadLetterQueue.Arn"
    lived_s = redrive["maxReceiveCount"] * queue["VisibilityTimeout"]
    assert 60 < lived_s < queue["MessageRetentionPeriod"]


def test_fleet_queue_takes_messages_from_all_its_rules_and_nobody_else() -> None:
    """A rule that the policy forgets is heard by nobody."""
    [policy] = of_type("fleet-queue.yaml", "AWS::SQS::QueuePolicy").values()
    [allowed] = [
        each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"
    ]
    assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
    sources = allowed["Condition"]["ArnEquals"]["aws:SourceArn"]
    assert sorted(sources) == sorted(f"!GetAtt {rule}.Arn" for rule in rules())


def test_topic_takes_messages_without_a_condition_when_eventbridge_publishes() -> None:
    """It would not be met, and every notice would be dropped."""
    [policy] = of_type("node-topic.yaml", "AWS::SNS::TopicPolicy").values()
    [allowed] = policy["PolicyDocument"]["Statement"]
    assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
    assert "Condition" not in allowed


@pytest.mark.parametrize("name", TEMPLATES)
def test_policies_permit_single_actions_on_named_things_when_aws_can_name_them(name: str) -> None:
    """Only looking around has no narrower resource."""
    for policy in of_type(name, "AWS::IAM::ManagedPolicy").values():
        for statement in policy["PolicyDocument"]["Statement"]:
            listed = statement["Action"]
            actions = set(listed if isinstance(listed, list) else [listed])
            assert not any("*" in action for action in actions)
            if statement["Resource"] == "*":
                assert actions <= {
                    "autoscaling:DescribeTags",
                    "ec2:DescribeInstances",
                    "sqs:ListQueues",
                }


@pytest.mark.parametrize("name", sorted(on_the_bus()))
def test_filter_lets_a_node_hear_what_is_for_it_and_nothing_else(name: str) -> None:
    """For each addressee, and for somebody else, who gets only what names no one instance."""
    event = on_the_bus()[name]
    for addressee in addressees(name):
        assert matches(filter_policy(addressee), event)
    title = event["detail-type"]
    is_for_everybody = title == "AWS Health Event" or title.startswith("Capacity Block")
    assert matches(filter_policy("i-0fedcba9876543210"), event) == is_for_everybody


def test_readme_shows_the_filter_that_is_set_when_read() -> None:
    """People compare it with what they find in their account."""
    [written] = re.findall(r"```json\n(.*?)```", README, flags=re.DOTALL)
    assert json.loads(written) == filter_policy("i-0123456789abcdef0")


def test_readme_names_every_file_when_deploying() -> None:
    """A template that the README does not mention is deployed by nobody."""
    assert {path.name for path in FILES.glob("*.yaml")} == set(TEMPLATES)
    assert all(f"`{name}`" in README for name in TEMPLATES)
