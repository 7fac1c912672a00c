"""A flag that was written before a suspend, read by a daemon and a launch after it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud import Node
from tests.support.launching import launch, wait_until
from tests.support.suspended import (
    after_suspend,
    boottime_ahead,
    why_no_boottime_ahead,
    why_no_suspend,
)

NO_NAMESPACE = why_no_boottime_ahead()
NO_SUSPEND = why_no_suspend()
WINDOW_S = 120.0
HOUR_S = 3600
ROOT = Path(__file__).parents[2]
JUDGE = """
import sys
from pathlib import Path
from trainer_hooks.flag import read_flag

notice = read_flag(Path(sys.argv[1]))
print(notice.id, notice.is_overdue)
"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(240),
    pytest.mark.skipif(NO_NAMESPACE is not None, reason=str(NO_NAMESPACE)),
]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A node with a notice of two minutes, whose daemon was killed since."""
    with Node(directory=tmp_path / "node") as node:
        node.issue_notice(WINDOW_S)
        wait_until(node.flag.exists, "the flag")
        node.kill_watcher()
        yield node


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """What a launch runs."""
    script = tmp_path / "train.py"
    script.write_text("print('TRAINED')\n")
    return script


def read(flag: Path) -> dict[str, Any]:
    """Return what the flag says."""
    content: dict[str, Any] = json.loads(flag.read_text())
    return content


@pytest.mark.slow
def test_notice_keeps_its_window_when_boottime_alone_has_another_zero(
    node: Node, script: Path
) -> None:
    """An hour more since boot is no hour more of the world's, so that the notice is in force."""
    with launch(node.directory, script, ranks=1, inside=boottime_ahead(HOUR_S)) as running:
        assert running.wait() == 75, running.output
        assert "nothing started" in running.report["reason"]
    assert "TRAINED" not in running.output


@pytest.mark.slow
@pytest.mark.skipif(NO_SUSPEND is not None, reason=str(NO_SUSPEND))
def test_deadline_is_nearer_by_the_suspend_when_the_node_wakes_within_it(
    node: Node, script: Path
) -> None:
    """Daemon and launch take the instant of before: a minute is left of two."""
    before = read(node.flag)
    node.inside = after_suspend(60)
    node.start_watcher()
    wait_until(lambda: read(node.flag)["seq"] > before["seq"], "the daemon's own flag")
    after = read(node.flag)
    assert after["id"] == before["id"]
    assert after["boot_id"] == before["boot_id"]
    assert after["deadline_boottime_s"] == pytest.approx(before["deadline_boottime_s"], abs=2.0)
    assert after["deadline_boottime_s"] - after["written_boottime_s"] <= WINDOW_S - 60
    assert node.log("watcher").count("notice admitted") == 1
    with launch(node.directory, script, ranks=1, inside=node.inside) as running:
        assert running.wait() == 75, running.output
    assert "TRAINED" not in running.output


@pytest.mark.slow
@pytest.mark.skipif(NO_SUSPEND is not None, reason=str(NO_SUSPEND))
@pytest.mark.parametrize(("for_s", "is_overdue"), [(60, "False"), (600, "False"), (HOUR_S, "True")])
def test_notice_is_overdue_only_when_ten_minutes_past_its_deadline_were_slept_through(
    node: Node, for_s: int, is_overdue: str
) -> None:
    """A trainer heeds a deadline that it slept through, unless the node was plainly not taken."""
    command = [*after_suspend(for_s), sys.executable, "-c", JUDGE, str(node.flag)]
    judged = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert judged.stdout.split() == [read(node.flag)["id"], is_overdue]
