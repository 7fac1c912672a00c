"""A group that ends an instance, and the hook that waits for our word."""

import pytest

from tests.support.aws_bodies import ABSENT, addressed, body, changed, only, read
from watcher.aws.hook import LifecycleHook
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind
from watcher.sources.reading import ForInstance, Grounds, Ignored

TOKEN = "c0ffee00-1111-4222-8333-444455556666"  # noqa: S105 - a lifecycle action's, of the data
HOOK = LifecycleHook(group="trainers", name="let-them-save", token=TOKEN)
EVENT, DIRECT = "asg-terminate", "asg-terminate-direct"


def hook(message: bytes) -> LifecycleHook | None:
    """Return the hook of the one notice."""
    [told] = addressed(message)
    assert isinstance(told, ForInstance)
    return told.hook


@pytest.mark.parametrize("name", [EVENT, DIRECT, "sns-asg-terminate-direct"])
def test_termination_carries_its_hook_when_it_comes_by_any_road(name: str) -> None:
    """What completes it is the same, and so is the fact."""
    assert hook(body(name)) == HOOK
    assert only(body(name)).id == only(body(EVENT)).id


def test_termination_says_where_the_instance_goes_when_it_is_a_warm_pool() -> None:
    """It stops there, and may come back."""
    assert only(body("asg-terminate-to-warm-pool")).detail == {
        "AutoScalingGroupName": "trainers",
        "LifecycleHookName": "let-them-save",
        "Origin": "AutoScalingGroup",
        "Destination": "WarmPool",
    }


@pytest.mark.parametrize(
    "value", [ABSENT, None, "", 5, ["x"], "n" * 5000, "\ud800", "\x1b[2J", "\0"]
)
@pytest.mark.parametrize("key", ["AutoScalingGroupName", "LifecycleHookName"])
def test_termination_stands_without_its_hook_when_the_hook_is_odd(key: str, value: object) -> None:
    """The instance goes all the same; half a hook could complete another one."""
    message = changed(EVENT, f"detail/{key}", value)
    assert hook(message) is None
    assert only(message).kind is NoticeKind.TERMINATION
    assert key in only(message).detail["malformed"]


@pytest.mark.parametrize("token", [ABSENT, None, "", 5, "\udfff"])
def test_hook_is_completed_by_the_instance_when_it_has_no_token(token: object) -> None:
    """CompleteLifecycleAction takes either."""
    found = hook(changed(DIRECT, "LifecycleActionToken", token))
    assert found == LifecycleHook(group="trainers", name="let-them-save", token=None)


def test_hook_names_are_kept_whole_when_long() -> None:
    """A name that was cut, as a word for people is, would complete nothing."""
    found = hook(changed(EVENT, "detail/AutoScalingGroupName", "g" * 255))
    assert found is not None
    assert found.group == "g" * 255


@pytest.mark.parametrize("instance_id", [ABSENT, None, "", 7, "trainers"])
def test_termination_is_refused_when_it_names_no_instance(instance_id: object) -> None:
    """By either road."""
    for message in (
        changed(EVENT, "detail/EC2InstanceId", instance_id),
        changed(DIRECT, "EC2InstanceId", instance_id),
    ):
        with pytest.raises(SourceMalformed, match="EC2InstanceId"):
            read(message)


@pytest.mark.parametrize("key", ["Event", "LifecycleTransition"])
def test_test_notification_is_ignored_when_either_key_says_it(key: str) -> None:
    """It came with one key or the other over the years, and never names an instance."""
    reading = read(changed("asg-test-notification", key, "autoscaling:TEST_NOTIFICATION"))
    assert isinstance(reading, Ignored)
    assert reading.grounds is Grounds.TEST


def test_notification_is_ignored_when_it_tells_of_what_is_done() -> None:
    """A group's plain notifications share the queue with its hooks."""
    reading = read(changed("asg-test-notification", "Event", "autoscaling:EC2_INSTANCE_TERMINATE"))
    assert isinstance(reading, Ignored)
    assert reading.grounds is Grounds.UNKNOWN_KIND
