"""Whether an attempt has left, by its ledger's last line."""

import json
from pathlib import Path

import pytest

from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.left import has_left
from trainer_hooks.waste.records import End, Outcome, to_json

END = json.dumps(to_json(End(at=9.0, outcome=Outcome.FINISHED, step=5))).encode()
NOTICE = json.dumps(to_json(Heard(at=8.0, id="x"))).encode()


@pytest.mark.parametrize(
    ("content", "is_left"),
    [
        (END + b"\n", True),
        (NOTICE + b"\n" + END + b"\n", True),
        (b"x" * 9000 + b"\n" + END + b"\n", True),
        (NOTICE + b"\n", False),
        (NOTICE + b"\n" + END[:20], False),
        (b"", False),
        (b"\xff\xff\n", False),
        (b"[" * 4000, False),
    ],
)
def test_attempt_has_left_when_its_last_line_says_so(
    tmp_path: Path,
    content: bytes,
    is_left: bool,  # noqa: FBT001 - a case's
) -> None:
    """Half a line, or none, says nothing."""
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "a7-5f3c.jsonl").write_bytes(content)
    (tmp_path / FOLDER / "a8-5f3c.jsonl").write_bytes(NOTICE)
    assert has_left(tmp_path, 7) is is_left
    assert not has_left(tmp_path, 8)


def test_attempt_has_not_left_when_there_is_no_ledger(tmp_path: Path) -> None:
    """Or none that can be read."""
    assert not has_left(tmp_path, 7)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "a7-5f3c.jsonl").symlink_to("/etc/passwd")
    assert not has_left(tmp_path, 7)
