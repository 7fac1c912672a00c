"""The README's first program is what people paste: it has to run as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.launching import launch
from trainer_hooks.checkpoint.layout import saves

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")

DIRECTORY = "/tmp/run-1"  # noqa: S108 - as a reader would run it; tests put their own in its place


def program() -> str:
    """Return it."""
    [text] = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    return str(text)


def test_program_needs_nothing_but_what_stands_in_it() -> None:
    """No name that only its reader could know."""
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=E9,F", "-"]
    done = subprocess.run(
        ruff, input=program(), capture_output=True, text=True, check=False, timeout=50
    )
    assert done.returncode == 0, done.stdout
    assert len(program().splitlines()) <= 30


@pytest.mark.slow
@pytest.mark.ranks
def test_program_trains_and_saves_when_it_is_pasted(tmp_path: Path) -> None:
    """On two ranks, as the line below it says; in steps and a directory of this test's own."""
    text = program()
    for was, becomes in (
        (DIRECTORY, str(tmp_path / "checkpoints")),
        ("save_every=100", "save_every=4"),
        ("until=1000", "until=20"),
    ):
        assert text.count(was) == 1
        text = text.replace(was, becomes)
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    with launch(tmp_path / "out", tmp_path / "train.py") as running:
        assert running.wait(200) == 0, running.output
    assert [name.step for name in saves(tmp_path / "checkpoints")] == [20, 16, 12]
    assert "reprieve-trainer launch --nproc-per-node=2 train.py" in README
