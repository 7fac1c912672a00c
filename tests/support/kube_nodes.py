"""Documented Node objects, and what is read from one."""

import json
from pathlib import Path
from typing import Any

from tests.support.clocks import START
from watcher.kube.objects import node_of
from watcher.kube.replacement import Ask
from watcher.notice import Moment, Notice
from watcher.sources.kubernetes_object import read_marks

DATA = Path(__file__).parents[1] / "data" / "kubernetes"
BOOT_ID = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"
"""Of every documented Node."""


def documented(name: str) -> dict[str, Any]:
    """Return one of the objects in tests/data/kubernetes."""
    obj: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
    return obj


def marked(
    obj: dict[str, Any],
    *,
    boot_id: str = BOOT_ID,
    seen: Moment = START,
    ask: Ask | None = None,
) -> tuple[Notice, ...]:
    """Return the notices that the marks on a Node are."""
    return read_marks(obj, node_of(obj), boot_id, seen, ask)
