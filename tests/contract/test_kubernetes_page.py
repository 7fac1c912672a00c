"""docs/kubernetes.md against the code it describes."""

import json
from dataclasses import fields
from pathlib import Path

from watcher.kube.keys import NOTICE
from watcher.notice import NoticeKind
from watcher.sources.kubernetes_config import KubernetesConfig
from watcher.sources.kubernetes_marks import ROWS
from watcher.sources.kubernetes_windows import LONGEST_S, OVER_AFTER_S
from watcher.sources.relayed_notice import LIMIT_CHARS, NOTICES_LIMIT

PAGE = (Path(__file__).parents[2] / "docs" / "kubernetes.md").read_text()


def test_page_lists_every_mark_with_its_kind() -> None:
    """And the relay's annotation; a mark that is not there says nothing."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    for row in ROWS:
        of_it = [line for line in lines if f"`{row.key}" in line and row.place in line]
        assert of_it, row.key
        is_by_message = row.key == "VMEventScheduled"
        assert is_by_message or any(row.kind.replace("_", " ") in line for line in of_it), row
        assert all(value in "".join(of_it) for value in row.values if value != "True"), row
    assert f"annotation `{NOTICE}`" in PAGE


def test_page_lists_every_setting() -> None:
    """By its whole name."""
    assert [
        field.name
        for field in fields(KubernetesConfig)
        if f"| `kubernetes.{field.name}` |" not in PAGE
    ] == []


def test_page_lists_every_field_of_the_relays_annotation() -> None:
    """And the figures that its readers go by."""
    golden = json.loads((Path(__file__).parent / "relayed_notice_v1.json").read_text())
    section = PAGE.split("## How the relay's word")[1].split("\n## ")[0]
    names = [*golden["notices"][0], *golden]
    assert [one for one in names if f"{one}`" not in section and f"`{one}[" not in section] == []
    assert (LIMIT_CHARS, NOTICES_LIMIT) == (64 * 1024, 16)
    assert "at most 64 KiB of JSON with at most 16 notices" in section
    assert LONGEST_S[NoticeKind.PREEMPTION] == 120
    assert OVER_AFTER_S == {
        NoticeKind.PREEMPTION: 300,
        NoticeKind.TERMINATION: 48 * 3600,
        NoticeKind.CAPACITY_END: 2 * 3600,
        NoticeKind.LIVE_MIGRATION: 300,
        NoticeKind.REBALANCE: 3600,
    }
