"""A machine that vanishes: no connection ends, and the ranks that are left exit 76 all the same."""

import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.deaf import deafen
from tests.support.launching import Launch, descendants, launch, wait_until
from tests.support.ports import quiet_port
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from tests.support.two_machines import INTERFACE, Machine, two_machines
from trainer_hooks import run
from trainer_hooks.lifeline.lifeline import Lifeline
from trainer_hooks.results import RESULT_DIR_VARIABLE, RankState, read_result

pytestmark = [pytest.mark.ranks, pytest.mark.timeout(300)]

LOST_S = 1
LONG = """
import os, sys
from functools import partial
from pathlib import Path
import torch.distributed as dist
from tests.support.tiny import Tiny
from trainer_hooks import run
from trainer_hooks.lifeline.lifeline import Lifeline

run.Lifeline = partial(Lifeline, lost_s=5)
checkpoints, log_dir = map(Path, sys.argv[1:])
dist.init_process_group("gloo")
tiny = Tiny(checkpoint_dir=checkpoints, log_dir=log_dir, steps=10**6, save_every=1000)
tiny.train(int(os.environ["RANK"]))
"""


def vanish(hooks: Any) -> None:  # noqa: ANN401 - looks inside
    """Be a rank whose machine has no power any more."""
    deafen(hooks._run._lifeline._end._line.connection)
    os.kill(os.getpid(), signal.SIGSTOP)


def test_rank_leaves_with_76_when_a_peers_machine_vanishes_and_not_when_one_is_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rank 2 stands still for longer than that first, in a debugger say: its machine answers."""
    monkeypatch.setattr(run, "Lifeline", partial(Lifeline, lost_s=LOST_S))
    monkeypatch.setenv(RESULT_DIR_VARIABLE, str(tmp_path))
    (tmp_path / "log").mkdir()

    def watch(rank: int, step: int, hooks: object) -> None:
        if (rank, step) == (2, 10):
            os.kill(os.getpid(), signal.SIGSTOP)
        if (rank, step) == (1, 10):
            time.sleep(3 * LOST_S)
            vanish(hooks)

    tiny = Tiny(
        checkpoint_dir=tmp_path / "save", log_dir=tmp_path / "log", save_every=1000, watch=watch
    )
    job = start_ranks(3, tiny.train, tmp_path / "out")

    def has_left() -> bool:
        job._reap(0, job.pids[0], kill=False)
        return 0 in job.codes

    try:
        wait_until(has_left, "rank 0's exit")
    finally:
        for pid in job.pids[1:]:
            os.kill(pid, signal.SIGKILL)
        job.wait()
    said = job.log(0)
    assert job.codes[0] == 76, said
    assert f"rank 1 is lost: its machine has not answered for {LOST_S} s" in said
    assert "rank 2 is lost" not in said
    told = read_result(tmp_path, 0)
    assert told is not None
    assert told.state is RankState.LOST


def start(tmp_path: Path, number: int, machine: Machine, host: Machine, port: int) -> Launch:
    """Start one machine's launcher, with one rank."""
    options = ["--nnodes=2", "--rdzv-backend=c10d", "--rdzv-id=vanish", "--max-restarts=0"]
    options += [f"--rdzv-endpoint={host.address}:{port}", f"--local-addr={machine.address}"]
    options += [f"--rdzv-conf=is_host={'true' if machine is host else 'false'}"]
    arguments = [str(tmp_path / "save"), str(tmp_path / "log")]
    directory, script = tmp_path / f"node_{number}", tmp_path / "long.py"
    return launch(directory, script, *arguments, ranks=1, options=options, inside=machine.inside)


@pytest.mark.slow
@pytest.mark.parametrize("gone", [0, 1])
def test_launcher_exits_76_when_the_other_machine_vanishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    """The one that hosts rendezvous and Store, where the agent hangs as well, or the other."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", INTERFACE)
    (tmp_path / "log").mkdir()
    (tmp_path / "long.py").write_text(LONG)
    port = quiet_port()
    with (
        two_machines() as machines,
        start(tmp_path, 0, machines[0], machines[0], port) as first,
        start(tmp_path, 1, machines[1], machines[0], port) as second,
    ):
        log = tmp_path / "log" / "rank_0.jsonl"
        wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, "step 3", 90)
        launches = (first, second)
        machines[gone].vanish()
        taken, left = launches[gone], launches[1 - gone]
        for pid in [*descendants(taken.process.pid), taken.process.pid]:
            os.kill(pid, signal.SIGKILL)
        assert left.wait(120) == 76, left.output
        assert "is lost" in left.output
