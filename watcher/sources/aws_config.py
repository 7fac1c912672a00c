"""What can be set about the AWS sources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher import setting_values
from watcher.aws_environment import IPV4_ENDPOINT
from watcher.httpclient import CALL_LIMIT_S
from watcher.sources.aws_instance import parse_instance_id


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsConfig:
    """How the AWS sources reach AWS."""

    metadata: str = "on"
    """``off`` where the instance metadata service (IMDS) is not to be asked."""
    metadata_endpoint: str = IPV4_ENDPOINT
    """Base URL of IMDS. Where one of these is not set, the SDKs' own variables count."""
    metadata_limit_s: float = CALL_LIMIT_S
    """Longest that IMDS may take to answer, in seconds; a little less than a poll is the most."""
    metadata_v1: str = "on"
    """``off`` where IMDSv1 is not to be used, though the token endpoint says there is no v2."""
    queue_url: str | None = None
    """This node's own SQS queue, read beside IMDS; `reprieve-watcher queue create` makes one."""
    instance_id: str | None = None
    """Whose messages in the queue are ours; where it is not set, IMDS says it."""
    hook_wait_s: float | None = None
    """Seconds for which an auto-scaling hook of ours is kept waiting by heartbeats; where it is not
    set, 30 s: the shortest time-out that a hook can have, so no heartbeat is relied on."""


def _instance_id(value: object) -> str:
    """Return an instance's id; with anything else every message would be somebody else's."""
    given = setting_values.text(value)
    if parse_instance_id(given.encode("utf-8", "replace")) != given:
        raise ValueError("an instance's id, such as i-0123456789abcdef0")
    return given


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "metadata": setting_values.one_of("on", "off"),
        "metadata_endpoint": setting_values.url,
        "metadata_limit_s": setting_values.call_limit,
        "metadata_v1": setting_values.one_of("on", "off"),
        "queue_url": setting_values.queue_url,
        "instance_id": _instance_id,
        "hook_wait_s": setting_values.seconds,
    }
)
