"""The calls about hooks: as AWS is asked, and what its answers mean."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.moto_aws import Moto
from watcher.aws.autoscaling import AutoScaling
from watcher.aws.hook import LifecycleHook
from watcher.errors import AwsCallFailed

HOOK = LifecycleHook(group="gpus", name="drain", token="token-1")  # noqa: S106 - not a secret
TOKENLESS = LifecycleHook(group="gpus", name="drain", token=None)


class Scripted:
    """Stands for boto3's client where moto has nothing; answers with an error of AWS's if told."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, object]] = []
        self.refusal: Exception | None = None

    def get(self) -> object:
        """Return itself: it stands for the lazy client as well."""
        return self

    def complete_lifecycle_action(self, **arguments: object) -> Mapping[str, Any]:
        """Note it."""
        return self._answer(arguments)

    def record_lifecycle_action_heartbeat(self, **arguments: object) -> Mapping[str, Any]:
        """Note it."""
        return self._answer(arguments)

    def _answer(self, arguments: Mapping[str, object]) -> Mapping[str, Any]:
        self.asked.append(arguments)
        if self.refusal is not None:
            raise self.refusal
        return {}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """Let every client be this one."""
    made = Scripted()
    monkeypatch.setattr("watcher.aws.autoscaling.LazyClient", lambda *_: made)
    return made


def refused(code: str, message: str) -> Exception:
    """Build what boto3 raises."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - loaded only by who needs it

    error: Exception = ClientError({"Error": {"Code": code, "Message": message}}, "Complete")
    return error


def test_action_is_named_by_token_or_instance_when_it_is_completed(scripted: Scripted) -> None:
    """CONTINUE, so that other hooks of the group can still finish."""
    group = AutoScaling("us-east-1")
    assert group.complete(HOOK, "i-1")
    assert group.complete(TOKENLESS, "i-1")
    named = {"AutoScalingGroupName": "gpus", "LifecycleHookName": "drain"}
    result = {"LifecycleActionResult": "CONTINUE"}
    assert scripted.asked == [
        {**named, "LifecycleActionToken": "token-1", **result},
        {**named, "InstanceId": "i-1", **result},
    ]


@pytest.mark.parametrize("by", ["with token token-1", "with instance ID i-1"])
def test_nobody_waits_when_aws_says_that_no_action_is_active(scripted: Scripted, by: str) -> None:
    """It was completed, or has run out; in whatever case AWS writes it."""
    scripted.refusal = refused("ValidationError", f"No active Lifecycle Action found {by}")
    group = AutoScaling("us-east-1")
    assert not group.heartbeat(HOOK, "i-1")
    assert not group.complete(HOOK, "i-1")


@pytest.mark.parametrize(
    ("code", "message", "outcome"),
    [
        ("ValidationError", "1 validation error detected", "refused"),
        ("AccessDenied", "not authorized", "forbidden"),
        ("Throttling", "Rate exceeded", "throttled"),
    ],
)
def test_call_fails_when_aws_says_anything_else(
    scripted: Scripted, code: str, message: str, outcome: str
) -> None:
    """The group may still wait, so somebody has to decide what to do."""
    scripted.refusal = refused(code, message)
    with pytest.raises(AwsCallFailed) as failure:
        AutoScaling("us-east-1").complete(HOOK, "i-1")
    assert (failure.value.outcome, failure.value.code) == (outcome, code)


def test_group_is_ours_only_when_it_carries_the_tag(moto: Moto) -> None:
    """Against moto, which knows groups and their tags."""
    for name in ("ours", "theirs"):
        moto.call(
            "autoscaling",
            "create_launch_configuration",
            LaunchConfigurationName=name,
            ImageId="ami-0a1b2c3d",
            InstanceType="t2.micro",
        )
        tags = [{"Key": "reprieve.dev/managed", "Value": ""}] if name == "ours" else []
        moto.call(
            "autoscaling",
            "create_auto_scaling_group",
            AutoScalingGroupName=name,
            LaunchConfigurationName=name,
            MinSize=0,
            MaxSize=0,
            AvailabilityZones=["us-east-1a"],
            Tags=tags,
        )
    group = AutoScaling("us-east-1")
    assert group.is_tagged("ours", "reprieve.dev/managed")
    assert not group.is_tagged("theirs", "reprieve.dev/managed")
    assert not group.is_tagged("nobody's", "reprieve.dev/managed")
    group.close()
