"""Fuzzed too: lines, annotations, objects, requests and questions that reach a node's watcher.

And what its commands read: the state of a daemon, and the template of a webhook.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.fuzz.targets import RECEIVED
from watcher.actions.news import FIELDS
from watcher.actions.webhook_template import filled, template
from watcher.drill import history
from watcher.errors import KubeMalformed
from watcher.kube.answers import parsed
from watcher.kube.objects import Node, items_of, node_of, pod_of
from watcher.kube.replacement import ask_of, setting_of
from watcher.notice import NoticeKind
from watcher.requests import DIRECTORY, Terms, read_requests
from watcher.sources import relayed_notice
from watcher.sources.drill_socket import DrillSocket
from watcher.sources.kubernetes_object import read_marks
from watcher.sources.notice_line import Unsaid, parse_line
from watcher.status.document import read_state
from watcher.status.table import table

BOOT_ID = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"
"""That of the files in tests/contract, which the corpus begins with."""

TERMS = Terms(boot_id=BOOT_ID, uids=(os.getuid(),), now_s=5002.0)
"""Those that the golden request keeps to."""

NEWS = dict.fromkeys(FIELDS, '"}, {id}\\') | {"detail": {"why": None}}
"""What is filled in where it could end a string, or be a place itself."""

_SCRATCH = Path(tempfile.mkdtemp(prefix="reprieve-fuzz-"))
_NODE = Node(
    name="node-a",
    uid="uid-a",
    version="7",
    provider_id="aws:///eu-west-1a/i-0123",
    boot_id=BOOT_ID,
    is_unschedulable=False,
    taints=(),
    labels={},
    annotations={},
)


def text_of(data: bytes) -> str:
    """Return what an annotation of these bytes would say."""
    return data.decode(errors="surrogateescape")


def written(folder: str, name: str, data: bytes) -> Path:
    """Write a file in a directory of the fuzzer's own, and return that directory."""
    directory = _SCRATCH / folder
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(data)
    return directory


def _replacement(data: bytes) -> None:
    with suppress(ValueError):
        ask_of(text_of(data))
    with suppress(ValueError):
        setting_of(text_of(data))


def _relayed(data: bytes) -> None:
    relayed_notice.parse(text_of(data), _NODE, RECEIVED)


async def _any_answer(asked: Mapping[str, object]) -> Mapping[str, object]:
    return {"heard": len(asked)}


def _drill_question(data: bytes) -> None:
    with suppress(ValueError, RecursionError):
        asyncio.run(DrillSocket(_any_answer)._judged(data, 0))


def _drill_history(data: bytes) -> None:
    history.read(written("drills", "history", data) / "history")


def _object(data: bytes) -> None:
    with suppress(KubeMalformed):
        said = parsed(data, "object")
        node = node_of(said)
        pod_of(said)
        items_of(said)
        read_marks(said, node, BOOT_ID, RECEIVED)


def _line(data: bytes) -> None:
    parse_line(data, RECEIVED, Unsaid("command", NoticeKind.PREEMPTION))


def _request(data: bytes) -> None:
    asked = read_requests(written(DIRECTORY, "a.json", data).parent, TERMS)
    assert len(asked.found) + len(asked.refused) == 1


def _status(data: bytes) -> None:
    lines = table(read_state(data)[0])
    assert lines.replace("\n", "").isprintable()


def _webhook(data: bytes) -> None:
    """Fill in a template that is one: the body is as deep as it was, and JSON."""
    with suppress(ValueError):
        given = template(text_of(data))
        body = filled(given, NEWS)
        assert type(body) is type(json.loads(given)) or isinstance(body, str | dict)
        json.dumps(body)


ON_NODE: Mapping[str, Callable[[bytes], None]] = {
    "node-command-line": _line,
    "node-drill-history": _drill_history,
    "node-drill-question": _drill_question,
    "node-kube-object": _object,
    "node-relayed": _relayed,
    "node-replacement": _replacement,
    "node-request": _request,
    "node-status": _status,
    "node-webhook": _webhook,
}
"""By name. Each may raise SourceMalformed and nothing else."""
