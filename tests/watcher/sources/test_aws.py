"""The road by which AWS's notices come: what is open on it, and closed with it."""

import pytest

from watcher.aws.boto import LazyClient
from watcher.metrics import Metrics
from watcher.process import now
from watcher.sources.aws import opened
from watcher.sources.aws_config import AwsConfig
from watcher.sources.road import Site
from watcher.state import State

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/node"


async def test_every_client_is_closed_when_the_road_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one for lifecycle hooks as well as the queue's and EC2's."""
    closed: list[str] = []
    monkeypatch.setattr(LazyClient, "close", lambda client: closed.append(client._service))
    config = AwsConfig(metadata="off", queue_url=QUEUE, instance_id="i-0123456789abcdef0")
    async with opened(config, Site(Metrics(), now, State())) as road:
        assert [action.name for action in road.actions] == ["lifecycle_hook"]
        assert closed == []
    assert sorted(closed) == ["autoscaling", "ec2", "sqs"]
