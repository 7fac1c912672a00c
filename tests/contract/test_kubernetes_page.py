"""docs/kubernetes.md against the code it describes."""

from dataclasses import fields
from pathlib import Path

from watcher.kube.keys import NOTICE
from watcher.sources.kubernetes import KubernetesConfig
from watcher.sources.kubernetes_marks import ROWS

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
