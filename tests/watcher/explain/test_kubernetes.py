"""`explain kubernetes-node`: what a Node says, for people who wonder."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.kube_nodes import DATA, documented
from watcher.cli import main
from watcher.kube.keys import NOTICE

GOLDEN = Path(__file__).parents[2] / "contract" / "relayed_notice_v1.json"
AT = "2026-11-30T10:05:06Z"
NOW = ("--received-at", AT, "--now", AT)


def _explained(capsys: pytest.CaptureFixture[str], file: Path, status: int = 0) -> dict[str, Any]:
    with pytest.raises(SystemExit) as ended:
        main(["explain", "kubernetes-node", str(file), *NOW])
    assert ended.value.code == status
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_mark_is_explained_with_the_time_that_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """As the daemon would act on it."""
    notices = _explained(capsys, DATA / "aks-redeploy.json")["notices"]
    assert [one["kind"] for one in notices] == ["maintenance"] * 2
    assert {one["left_s"] for one in notices} == {600}


def test_node_is_ignored_when_it_only_looks_as_if(capsys: pytest.CaptureFixture[str]) -> None:
    """A cordon, soft taints, and what is ours."""
    assert list(_explained(capsys, DATA / "nothing.json")) == ["ignored"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOLDEN.read_text(), ["termination", "preemption"]),
        (GOLDEN.read_text().replace('"kind": "preemption"', '"kind": "x"'), ["termination"]),
        (GOLDEN.read_text().replace('"kind": "', '"kind": "x'), None),
        ("garbage", None),
    ],
)
def test_relays_word_is_explained_or_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, expected: list[str] | None
) -> None:
    """Refused where nothing of it makes sense, as then nobody knows what it says."""
    obj = documented("nothing")
    obj["spec"]["providerID"] = "aws:///eu-west-1a/i-0123"
    obj["metadata"]["annotations"][NOTICE] = text
    file = tmp_path / "node.json"
    file.write_text(json.dumps(obj))
    answer = _explained(capsys, file, status=1 if expected is None else 0)
    assert [one["kind"] for one in answer.get("notices", [])] == (expected or [])
    assert ("refused" in answer) is (expected is None)


def test_body_is_refused_when_it_is_no_node(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Such as a list of them."""
    file = tmp_path / "list.json"
    file.write_text('{"kind": "List", "metadata": {"resourceVersion": ""}, "items": []}')
    assert "no Node" in _explained(capsys, file, status=1)["refused"]
