"""A topic on moto, and the queues beside it."""

import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.moto_aws import Moto
from watcher import cli
from watcher.node_queue.names import Place
from watcher.node_queue.queues import NodeQueues


@pytest.fixture
def place(moto: Moto) -> Place:
    """A topic of the test's own, and a name for its queues."""
    name = f"t{uuid.uuid4().hex[:12]}"
    return Place.of(str(moto.call("sns", "create_topic", Name=name)["TopicArn"]), name)


@pytest.fixture
def queues(place: Place) -> Iterator[NodeQueues]:
    """The queues beside the topic."""
    with closing(NodeQueues(place)) as made:
        yield made


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the tests' logging as it is."""
    monkeypatch.setattr(cli, "start_logging", lambda *_: None)
