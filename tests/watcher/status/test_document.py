"""The state that came over the wire: as the daemon sends it, and as nobody should."""

import json
from typing import Any

import pytest

from tests.support.told_state import told_notice, told_state
from watcher.errors import SourceMalformed
from watcher.status.document import read_state


def _without(name: str) -> dict[str, Any]:
    document = told_state()
    del document[name]
    return document


def test_state_is_read_when_it_says_more_than_we_know() -> None:
    """Fields of a newer daemon are passed on, and not looked at."""
    document = told_state(mood="fine")
    told, passed_on = read_state(json.dumps(document).encode())
    assert told.node == "node-a"
    assert [one.id for one in told.in_force] == ["aws-spot-terminate"]
    assert passed_on == document


def test_state_is_read_when_there_is_no_cluster_and_nobody_trains() -> None:
    """A virtual machine."""
    document = told_state(kubernetes=None, trainers={"found": [], "refused": {}, "unknown": None})
    told, _ = read_state(json.dumps(document).encode())
    assert (told.is_in_cluster, told.kubernetes_node, told.pods) == (False, None, None)
    assert told.trainers == ()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"hello",
        b"\xff",
        b"null",
        b"[]",
        b"[" * 100_000,
        b'{"schema": ' + b"9" * 5000 + b"}",
        *(
            json.dumps(document).encode()
            for document in (
                _without("schema"),
                _without("in_force"),
                _without("trainers"),
                told_state(schema=2),
                told_state(node=7),
                told_state(ready="yes"),
                told_state(now_unix_s=float("nan")),
                told_state(now_unix_s=True),
                told_state(sources=[]),
                told_state(in_force={}),
                told_state(in_force=[None]),
                told_state(in_force=[told_notice(counts_until_unix_s=None)]),
                told_state(in_force=[told_notice(actions={"a": 1})]),
                told_state(kubernetes="here"),
                told_state(trainers={"found": [], "refused": {"a": 1}, "unknown": None}),
            )
        ),
    ],
    ids=range(22),
)
def test_state_is_refused_when_it_is_not_a_daemons(body: bytes) -> None:
    """Whoever listens on the port may have sent it."""
    with pytest.raises(SourceMalformed, match="no state of a daemon's"):
        read_state(body)
