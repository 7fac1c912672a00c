"""Auto Scaling scripted: moto has neither of the two calls about lifecycle actions."""

from watcher.aws.autoscaling import AutoScaling
from watcher.aws.hook import LifecycleHook
from watcher.errors import AwsCallFailed


class Group(AutoScaling):
    """Auto Scaling that notes what it is asked for, and fails as told."""

    fails_with: AwsCallFailed | None = None

    def __init__(self) -> None:
        super().__init__("us-east-1")
        self.calls: list[str] = []
        self.is_ours = True
        self.is_open = True

    def is_tagged(self, group: str, key: str) -> bool:
        """Tell what the test has told."""
        self._note(f"tag {group} {key}")
        return self.is_ours

    def complete(self, hook: LifecycleHook, instance_id: str) -> bool:
        """Note it."""
        return self._note(f"complete {hook.name} {instance_id}")

    def heartbeat(self, hook: LifecycleHook, instance_id: str) -> bool:
        """Note it."""
        return self._note(f"heartbeat {hook.name} {instance_id}")

    def _note(self, call: str) -> bool:
        self.calls.append(call)
        if self.fails_with is not None:
            raise self.fails_with
        return self.is_open
