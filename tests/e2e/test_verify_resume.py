"""``verify-resume`` on the example: interrupted, stopped, and at other numbers of ranks."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from trainer_hooks import cli

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

TRAIN_GPT = Path(__file__).parents[2] / "examples" / "train_gpt.py"
LAUNCHER = Path(sys.executable).with_name("reprieve-trainer")
STEPS = 24


@pytest.fixture(autouse=True)
def same_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launch sets one thread for two ranks and none for one: here all have one."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def verify(
    out: Path, capsys: pytest.CaptureFixture[str], options: Sequence[str], *arguments: str
) -> tuple[int, dict[str, Any]]:
    """Run the command on the example; return its exit code and what it says."""
    command = [str(LAUNCHER), "launch", "--standalone", "--nproc-per-node={n}", str(TRAIN_GPT)]
    command += ["--checkpoint-dir={dir}", f"--steps={STEPS}", "--save-every=6", *arguments]
    code = cli.run(["verify-resume", "--json", "--out", str(out), *options, "--", *command])
    return code, json.loads(capsys.readouterr().out)


def counts(told: dict[str, Any]) -> dict[str, int]:
    """Return how many pairs were compared, by aspect."""
    return {one["aspect"]: one["count"] for one in told["comparisons"]}


def test_example_resumes_bitwise_when_it_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two ranks, and two again: samples, rates, losses, states and generators of every step."""
    options = ["--at", "8", "--set", "n=2,2"]
    code, told = verify(tmp_path / "out", capsys, options, "--batch-size=2")
    assert code == 0, told
    assert told["same"] is True
    assert [start["ranks"] for start in told["starts"]] == [2, 2]
    assert told["starts"][1]["first_step"] >= 6
    aspects = ("steps", "sample ids", "learning rates", "losses", "states", "random numbers")
    assert {name: counts(told)[name] for name in aspects} == dict.fromkeys(aspects, 2 * STEPS)


@pytest.mark.slow
def test_example_resumes_bitwise_when_it_is_stopped_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By SIGTERM to the launcher, which leaves with 75 each time."""
    options = ["--by", "stop", "--set", "n=2,2,2"]
    code, told = verify(tmp_path / "out", capsys, options, "--batch-size=2", "--min-step-s=0.1")
    assert code == 0, told
    assert len(told["starts"]) == 3


@pytest.mark.slow
def test_example_has_the_same_samples_when_ranks_come_and_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 -> 1 -> 2 ranks with the same global batch: the losses stay within 5 %."""
    options = ["--set", "n=2,1,2", "--set", "batch=4,8,4", "--tolerance", "0.05"]
    code, told = verify(tmp_path / "out", capsys, options, "--batch-size={batch}")
    assert code == 0, told
    assert [start["ranks"] for start in told["starts"]] == [2, 1, 2]
    assert counts(told)["sample ids"] == STEPS


@pytest.mark.slow
def test_buckets_are_blamed_when_no_backward_is_thrown_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example without that line differs from 3 ranks on, and the cause is named."""
    source = TRAIN_GPT.read_text(encoding="utf-8")
    call = r"\n +throw_away_first_backward\(model.*\)\n"
    changed, found = re.subn(call, "\n", source)
    assert found == 1
    script = tmp_path / "train_gpt.py"
    script.write_text(changed, encoding="utf-8")
    (tmp_path / "gpt.py").symlink_to(TRAIN_GPT.with_name("gpt.py"))
    monkeypatch.setattr(sys.modules[__name__], "TRAIN_GPT", script)
    options = ["--at", "8", "--set", "n=3,3"]
    code, told = verify(tmp_path / "out", capsys, options, "--batch-size=2")
    assert (code, told["same"]) == (1, False)
    assert "DDP rebuilds its buckets" in told["causes"][0], told
