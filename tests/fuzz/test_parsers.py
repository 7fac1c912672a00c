"""Every parser of what others write, under a minute of coverage-guided fuzzing each."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.files import FILES, SEEDS
from tests.fuzz.on_node import ON_NODE
from tests.fuzz.on_run import ON_RUN, RUN_SEEDS
from tests.fuzz.targets import TARGETS
from tests.support.told_state import told_state

ROOT = Path(__file__).parents[2]
BODIES = sorted(path for path in (ROOT / "tests" / "data").glob("*/**/*") if path.is_file())
GOLDEN = sorted((ROOT / "tests" / "contract").glob("*.json"))
SECONDS = int(os.environ.get("REPRIEVE_FUZZ_S", "60"))
"""For each target; ten minutes each now and then by hand: CONTRIBUTING.md."""


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 540)
@pytest.mark.parametrize("target", [*TARGETS, *FILES, *ON_NODE, *ON_RUN])
def test_parser_answers_or_refuses_when_fuzzed(target: str, tmp_path: Path) -> None:
    """Starting from the documented bodies, nothing makes it raise anything else."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for path in (*BODIES, *GOLDEN):
        shutil.copy(path, corpus / f"{path.parent.name}-{path.name}")
    state = json.dumps(told_state()).encode()
    for name, seed in {**SEEDS, **RUN_SEEDS, "state": state}.items():
        (corpus / f"seed-{name}").write_bytes(seed)
    fuzzed = subprocess.run(
        [sys.executable, Path(__file__).parent / "parsers.py", target, str(SECONDS), corpus],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert fuzzed.returncode == 0, fuzzed.stderr[-3000:]
    [last] = [line for line in fuzzed.stderr.splitlines() if line.startswith("Done")]
    print(f"{target}: {last}")  # noqa: T201 - shown by -s: how many it was
