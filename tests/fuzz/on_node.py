"""Fuzzed too: lines, annotations, objects and questions that reach the watcher on a node."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.fuzz.targets import RECEIVED
from watcher.drill import history
from watcher.errors import KubeMalformed
from watcher.kube.answers import parsed
from watcher.kube.objects import Node, items_of, node_of, pod_of
from watcher.kube.replacement import ask_of, setting_of
from watcher.notice import NoticeKind
from watcher.sources import relayed_notice
from watcher.sources.drill_socket import DrillSocket
from watcher.sources.kubernetes_object import read_marks
from watcher.sources.notice_line import Unsaid, parse_line

BOOT_ID = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"
"""That of the files in tests/contract, which the corpus begins with."""

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


ON_NODE: Mapping[str, Callable[[bytes], None]] = {
    "node-command-line": _line,
    "node-drill-history": _drill_history,
    "node-drill-question": _drill_question,
    "node-kube-object": _object,
    "node-relayed": _relayed,
    "node-replacement": _replacement,
}
"""By name. Each may raise SourceMalformed and nothing else."""
