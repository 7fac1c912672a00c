"""``verify-resume`` on the example with Transformers."""

import json
import sys
from pathlib import Path

import pytest

from trainer_hooks import cli

pytest.importorskip("transformers", reason="needs the extra transformers")

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_transformers.py"
LAUNCHER = Path(sys.executable).with_name("reprieve-trainer")


@pytest.mark.parametrize("by", ["kill", "stop"])
def test_transformers_example_resumes_bitwise_when_it_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Or stopped: two ranks, and two again; every step's samples, rates, losses and states."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    command = [str(LAUNCHER), "launch", "--standalone", "--nproc-per-node={n}", str(EXAMPLE)]
    command += ["--checkpoint-dir={dir}", "--steps=24", "--save-every=6", "--min-step-s=0.1"]
    options = ["--at", "8", "--by", by, "--set", "n=2,2", "--out", str(tmp_path / "out")]
    code = cli.run(["verify-resume", "--json", *options, "--", *command])
    told = json.loads(capsys.readouterr().out)
    assert code == 0, told
    counts = {one["aspect"]: one["count"] for one in told["comparisons"]}
    aspects = ("steps", "sample ids", "learning rates", "losses", "states", "random numbers")
    assert {name: counts[name] for name in aspects} == dict.fromkeys(aspects, 48)


def test_example_is_as_long_as_a_page() -> None:
    """Of 60 lines, which is what a user has to read."""
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 60
