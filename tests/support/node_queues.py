"""`reprieve-watcher queue` in a test's own process."""

import pytest

from watcher import cli
from watcher.node_queue.names import Place

INSTANCE = "i-0abc000000000001"
GONE = "i-0abc00000000dead"
"""One that EC2 does not know."""


def queue_command(place: Place, *arguments: str) -> object:
    """Run it, and return its exit status."""
    what, *rest = arguments
    topic = f"--topic-arn={place.topic_arn}"
    with pytest.raises(SystemExit) as caught:
        cli.main(["queue", what, topic, f"--name={place.name}", *rest])
    return caught.value.code
