"""Every parser of a cloud's bodies, under a minute of coverage-guided fuzzing each."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.aws_bodies import DATA
from watcher.explain.bodies import BODIES

ROOT = Path(__file__).parents[2]
SECONDS = 60


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", BODIES)
def test_parser_answers_or_refuses_when_fuzzed(source: str, tmp_path: Path) -> None:
    """Starting from the documented bodies, nothing makes it raise anything else."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for path in (*DATA.glob("*.json"), *DATA.glob("imds/*")):
        shutil.copy(path, corpus / path.name)
    fuzzed = subprocess.run(
        [sys.executable, Path(__file__).parent / "parsers.py", source, str(SECONDS), corpus],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert fuzzed.returncode == 0, fuzzed.stderr[-3000:]
    assert "Done" in fuzzed.stderr
