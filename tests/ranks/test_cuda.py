"""A run on GPUs: NCCL beside our gloo group, pinned buffers, copies in the background."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from tests.support.ports import quiet_port

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).parents[2]
UNTIL = 9
LIMIT_S = 180.0
"""For one start of all ranks; CUDA and NCCL take half a minute to come up."""


@dataclass(frozen=True)
class Start:
    """One start of the run, and what each rank has said."""

    codes: list[int]
    said: list[str]

    def losses(self, rank: int) -> dict[str, str]:
        """Return each step's loss, to the last bit."""
        steps = [line.split() for line in self.said[rank].splitlines() if line.startswith("step ")]
        return {words[1]: words[3] for words in steps}


def start(kind: str, ranks: int, directory: Path, *words: str, world: int | None = None) -> Start:
    """Run all ranks to their end; who fails or hangs is named, with its last words.

    Args:
        kind: Of device.
        ranks: How many are started.
        directory: Of checkpoints and logs.
        words: What else each is told.
        world: How many there are to be; as many as are started.
    """
    directory.mkdir(parents=True, exist_ok=True)
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(quiet_port())}
    told |= {"WORLD_SIZE": str(world or ranks), "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    run = str(directory / "run")
    command = [sys.executable, "-m", "tests.support.device_run", kind, run, *words]
    logs = [directory / f"rank_{rank}_{words}.txt" for rank in range(ranks)]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for rank, log in enumerate(logs):
            env = os.environ | told | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            with log.open("wb") as file:
                running.append(
                    subprocess.Popen(
                        command, cwd=ROOT, env=env, stdout=file, stderr=subprocess.STDOUT
                    )
                )
        end = time.monotonic() + LIMIT_S
        codes = [ended_by(one, end) for one in running]
    finally:
        for one in running:
            one.kill()
            one.wait()
    return Start(codes, [log.read_text(errors="replace") for log in logs])


def ended_by(process: "subprocess.Popen[bytes]", end: float) -> int:
    """Return a process's exit code; -9 for one that had to be killed."""
    try:
        return process.wait(timeout=max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def ended_as(start: Start, code: int) -> bool:
    """Tell whether all ranks have ended so; say what each of the others has said last."""
    wrong = [rank for rank, one in enumerate(start.codes) if one != code]
    for rank in wrong:
        sys.stderr.write(
            f"rank {rank} ended with {start.codes[rank]}:\n{start.said[rank][-3000:]}\n"
        )
    return not wrong


def resumes_exactly(kind: str, ranks: int, directory: Path) -> Start:
    """See that a run that dies goes on bitwise, by the device's own generator too."""
    whole = start(kind, ranks, directory / "whole", str(UNTIL))
    assert ended_as(whole, 0)
    died = start(kind, ranks, directory / "broken", str(UNTIL), "dies")
    assert ended_as(died, 9)
    resumed = start(kind, ranks, directory / "broken", str(UNTIL))
    assert ended_as(resumed, 0)
    assert "RESUMED step=4 " in resumed.said[0]
    for rank in range(ranks):
        straight = whole.losses(rank)
        assert len(straight) == UNTIL
        assert died.losses(rank) == {step: straight[step] for step in map(str, range(5))}
        assert resumed.losses(rank) == {step: straight[step] for step in map(str, range(4, UNTIL))}
    return whole


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: CUDA, NCCL, pinned memory")
def test_run_on_gpus_goes_on_bitwise_when_it_has_died(tmp_path: Path) -> None:
    """One rank a GPU. Each copy lies in pinned memory, in the buffers of the save before."""
    whole = resumes_exactly("cuda", torch.cuda.device_count(), tmp_path)
    for said in whole.said:
        assert "STAGED pinned=True kept=True" in said


@pytest.mark.slow
def test_run_on_cpu_goes_on_bitwise_when_it_has_died(tmp_path: Path) -> None:
    """What the check on GPUs does, but for them: it is known to work before one is to be had."""
    whole = resumes_exactly("cpu", 2, tmp_path)
    for said in whole.said:
        assert "STAGED pinned=False kept=True" in said


@pytest.mark.slow
def test_rank_is_named_when_it_hangs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed when the time is over: here its peer never comes."""
    monkeypatch.setattr("tests.ranks.test_cuda.LIMIT_S", 15.0)
    hung = start("cpu", 1, tmp_path, str(UNTIL), world=2)
    assert not ended_as(hung, 0)
    assert "rank 0 ended with -9:" in capfd.readouterr().err


def test_rank_is_named_when_it_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With its last words: nobody can look at that machine afterwards."""
    failed = start("meta", 1, tmp_path, str(UNTIL))
    assert not ended_as(failed, 0)
    assert "rank 0 ended with 1:" in capfd.readouterr().err
