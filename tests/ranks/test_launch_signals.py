"""Signals to ``reprieve-trainer launch``: several, odd ones, and those that it is to ignore."""

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.launching import Launch, children, is_alive, launch, wait_until

pytestmark = pytest.mark.ranks

PREAMBLE = """
    import os, pathlib, signal, sys, time
    from trainer_hooks.results import RankResult, RankState, report_result
    RANK = int(os.environ["RANK"])
    HERE = pathlib.Path(sys.argv[1])
    def report(state):
        report_result(RankResult(state=RankState(state), pid=os.getpid(), rank=RANK, step=7,
                                 committed_step=5))
    def wait_for(name):
        while not (HERE / name).exists():
            time.sleep(0.05)
    report('running')
"""

SAVES = """
    def hear(number, _):
        (HERE / f"heard_{RANK}_{number}").touch()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, hear)
    (HERE / f"up{RANK}").touch()
    wait_for("is_saved")
    report("saved"); sys.exit(75)
"""
"""Takes as long as the test wants, as a save may."""

GOES_ON = """
    (HERE / f"up{RANK}").touch()
    wait_for("is_done")
    report("finished")
"""


def start(
    tmp_path: Path, body: str, *, options: Sequence[str] = (), inside: Sequence[str] = ()
) -> Launch:
    """Launch two ranks that run a script torch need not be imported for, and wait for them."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(PREAMBLE) + textwrap.dedent(body))
    running = launch(tmp_path / "out", script, str(tmp_path), options=options, inside=inside)
    wait_until(lambda: len(list(tmp_path.glob("up*"))) == 2, "both ranks")
    return running


@pytest.mark.parametrize("others", [[signal.SIGHUP], [signal.SIGHUP, signal.SIGUSR1]])
def test_ranks_save_in_peace_when_other_signals_follow_a_sigterm(
    tmp_path: Path, others: list[signal.Signals]
) -> None:
    """As systemd sends them to a login session, at the same moment; and once more later."""
    with start(tmp_path, SAVES) as running:
        for number in (signal.SIGTERM, *others):
            running.process.send_signal(number)
        wait_until(lambda: list(tmp_path.glob("heard_*")), "a rank to hear")
        for number in (signal.SIGTERM, *others):
            running.process.send_signal(number)
            time.sleep(0.2)
        assert running.process.poll() is None, running.output
        (tmp_path / "is_saved").touch()
        assert running.wait() == 75, running.output


def test_launch_goes_on_at_a_hangup_when_it_was_started_by_nohup(tmp_path: Path) -> None:
    """The terminal goes, and the training stays."""
    with start(tmp_path, GOES_ON, inside=["nohup"]) as running:
        running.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        (tmp_path / "is_done").touch()
        assert running.wait() == 0, running.output


def test_no_rank_is_left_when_somebody_presses_ctrl_c_again(tmp_path: Path) -> None:
    """The first is handed on, and the ranks take their time; the second one is meant."""
    deaf = "for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)"
    body = deaf + textwrap.dedent(GOES_ON)
    with start(tmp_path, body) as running:
        ranks = children(running.process.pid)
        assert len(ranks) == 2
        running.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert running.process.poll() is None
        running.process.send_signal(signal.SIGINT)
        assert running.wait(20) == 128 + signal.SIGINT, running.output
        assert not any(is_alive(rank) for rank in ranks)


def test_sigusr2_reaches_the_ranks_that_handle_it(tmp_path: Path) -> None:
    """And kills neither the launcher nor the other rank."""
    body = """
        if RANK == 1:
            signal.signal(signal.SIGUSR2, lambda *_: (HERE / "dumped").touch())
    """
    with start(tmp_path, textwrap.dedent(body) + textwrap.dedent(GOES_ON)) as running:
        running.process.send_signal(signal.SIGUSR2)
        wait_until((tmp_path / "dumped").exists, "the rank's own handler")
        (tmp_path / "is_done").touch()
        assert running.wait() == 0, running.output
        assert "SIGUSR2 is passed on to 1 ranks" in running.output


def test_ranks_save_at_sigterm_when_a_user_names_other_signals(tmp_path: Path) -> None:
    """What torchrun is told to handle is added to what we need."""
    with start(tmp_path, SAVES, options=["--signals-to-handle=SIGUSR2"]) as running:
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: len(list(tmp_path.glob("heard_*_15"))) == 2, "both ranks to hear")
        (tmp_path / "is_saved").touch()
        assert running.wait() == 75, running.output


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGHUP, 75)])
def test_launch_ends_at_once_when_told_while_it_waits_for_another_node(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """In a rendezvous that waits in C, where no Python handler runs."""
    (tmp_path / "script.py").touch()
    options = ["--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", "--master-port=0"]
    with launch(tmp_path / "out", tmp_path / "script.py", options=options) as running:
        wait_until(lambda: waits_in_rendezvous(running), "the rendezvous")
        running.process.send_signal(number)
        assert running.wait(20) == code, running.output


def waits_in_rendezvous(running: Launch) -> bool:
    """Tell whether a launcher listens for other nodes."""
    mine = Path(f"/proc/{running.process.pid}")
    tables = ((mine / "net" / name).read_text().splitlines() for name in ("tcp", "tcp6"))
    fields = [line.split() for table in tables for line in table]
    listening = {f"socket:[{one[9]}]" for one in fields if one[3] == "0A"}
    with suppress(FileNotFoundError):  # one was closed as we looked
        return any(str(fd.readlink()) in listening for fd in (mine / "fd").iterdir())
    return False


LOGS_AS_IT_COMES = """
    import logging, os, signal, sys
    from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
    from trainer_hooks.cli import main

    class Interrupted:
        def __str__(self):
            os.kill(os.getpid(), signal.SIGTERM)
            return "a line"

    monitored = LocalElasticAgent._monitor_workers

    def monitor(agent, group):
        LocalElasticAgent._monitor_workers = monitored
        logging.getLogger("any").warning("%s", Interrupted())
        return monitored(agent, group)

    LocalElasticAgent._monitor_workers = monitor
    main(["launch", "--standalone", "--nproc-per-node=1", sys.argv[1]])
"""


def test_launch_ends_when_a_signal_comes_in_the_middle_of_a_log_line(tmp_path: Path) -> None:
    """Log handlers take every exception for a fault of the line, and torchrun's for one as well."""
    script = tmp_path / "script.py"
    script.write_text("import time; time.sleep(3600)")
    command = [sys.executable, "-c", textwrap.dedent(LOGS_AS_IT_COMES), str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert "--- Logging error ---" in ended.stderr
    assert ended.returncode == 75, ended.stderr
    assert "stopped by SIGTERM" in ended.stderr
