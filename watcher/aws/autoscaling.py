"""The calls to Auto Scaling about its lifecycle hooks; all of them block.

Source: EC2 Auto Scaling API reference, CompleteLifecycleAction,
RecordLifecycleActionHeartbeat, DescribeTags (read 2026-11-30).
"""

from collections.abc import Mapping
from typing import Any, Protocol, cast

from watcher.aws.boto import LazyClient, failing_as
from watcher.aws.hook import LifecycleHook
from watcher.errors import AwsCallFailed

_OVER = "no active lifecycle action found"
"""How AWS begins to say that a hook was completed or has run out; in any case."""


class _Client(Protocol):
    def complete_lifecycle_action(self, **arguments: object) -> Mapping[str, Any]: ...
    def record_lifecycle_action_heartbeat(self, **arguments: object) -> Mapping[str, Any]: ...
    def describe_tags(self, **arguments: object) -> Mapping[str, Any]: ...


class AutoScaling:
    """Calls to Auto Scaling in one region; None for the one that the environment names."""

    def __init__(self, region: str | None) -> None:
        self._boto = LazyClient("autoscaling", region)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._boto.close()

    def renew(self) -> None:
        """Let the next call have a client of its own, because one hangs."""
        self._boto.renew()

    def is_tagged(self, group: str, key: str) -> bool:
        """Tell whether the group carries a tag with this key, whatever its value.

        Raises:
            AwsCallFailed: It is unknown; autoscaling:DescribeTags is needed.
        """
        filters = [_filter("auto-scaling-group", group), _filter("key", key)]
        with failing_as("Auto Scaling DescribeTags"):
            return bool(self._client().describe_tags(Filters=filters).get("Tags"))

    def complete(self, hook: LifecycleHook, instance_id: str) -> bool:
        """Let the instance go; False when nobody waits any more.

        Raises:
            AwsCallFailed: Perhaps the group still waits.
        """
        # CONTINUE and ABANDON both end the instance; only this lets other hooks finish.
        arguments = {**_named(hook, instance_id), "LifecycleActionResult": "CONTINUE"}
        try:
            with failing_as("Auto Scaling CompleteLifecycleAction"):
                self._client().complete_lifecycle_action(**arguments)
        except AwsCallFailed as error:
            return _is_open_after(error)
        return True

    def heartbeat(self, hook: LifecycleHook, instance_id: str) -> bool:
        """Have the group wait for its time-out again from now on; False as for complete.

        Raises:
            AwsCallFailed: Perhaps the group waits no longer than before.
        """
        try:
            with failing_as("Auto Scaling RecordLifecycleActionHeartbeat"):
                self._client().record_lifecycle_action_heartbeat(**_named(hook, instance_id))
        except AwsCallFailed as error:
            return _is_open_after(error)
        return True

    def _client(self) -> _Client:
        return cast("_Client", self._boto.get())


def _is_open_after(error: AwsCallFailed) -> bool:
    """Return False when the error only says that nobody waits; else raise it again."""
    if error.code == "ValidationError" and _OVER in str(error).lower():
        return False
    raise error


def _named(hook: LifecycleHook, instance_id: str) -> dict[str, object]:
    which = {"LifecycleActionToken": hook.token} if hook.token else {"InstanceId": instance_id}
    return {"AutoScalingGroupName": hook.group, "LifecycleHookName": hook.name, **which}


def _filter(name: str, value: str) -> Mapping[str, object]:
    return {"Name": name, "Values": [value]}
