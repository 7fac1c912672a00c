"""Requests for another node, as the watcher reads them."""

import json
from pathlib import Path

import pytest

from trainer_hooks.clock import boot_id
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.health.node_request import ask_for_another_node, compose

GOLDEN = Path(__file__).parents[2] / "contract" / "request_v1.json"

SLOW = Finding(
    guard=Guard.STRAGGLER,
    step=40,
    ranks=(1,),
    text="slower than the others before the first collective: rank 1 by 29 ms a step",
)


def test_file_is_the_golden_one() -> None:
    """The watcher's tests read exactly this file."""
    content = compose(SLOW, "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f", 5001.25)
    assert content == GOLDEN.read_bytes()


def test_request_is_there_when_another_node_is_asked_for(tmp_path: Path) -> None:
    """Once, whole, and nothing beside it, however often."""
    ask_for_another_node(SLOW, tmp_path)
    ask_for_another_node(SLOW, tmp_path)
    [path] = tmp_path.iterdir()
    assert json.loads(path.read_text())["boot_id"] == boot_id()


def test_training_goes_on_when_nobody_can_be_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the directory; the log says so."""
    ask_for_another_node(SLOW, tmp_path / "none")
    assert "another node is not asked for" in caplog.text
