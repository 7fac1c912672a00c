"""What names a lifecycle hook of an auto-scaling group; pure, for parsers as well."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleHook:
    """What completes the lifecycle action that a terminating instance waits in.

    Token or instance id name the action to CompleteLifecycleAction; both are kept whole.
    """

    group: str
    name: str
    token: str | None
