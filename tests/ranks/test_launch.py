"""``reprieve-trainer launch`` exits with a code that means something."""

import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.support.flags import put_flag
from tests.support.launching import Launch, launch, wait_until

pytestmark = pytest.mark.ranks

TINY_MAIN = Path(__file__).parents[1] / "support" / "tiny_main.py"

PREAMBLE = """
    import os, pathlib, signal, sys, time
    from trainer_hooks.results import RankResult, RankState, report_result
    RANK = int(os.environ["RANK"])
    def report(state):
        report_result(RankResult(state=RankState(state), pid=os.getpid(), rank=RANK, step=7,
                                 committed_step=5))
        results = pathlib.Path(os.environ["REPRIEVE_RESULT_DIR"])
        while len(list(results.glob("*.json"))) < 2:
            time.sleep(0.01)  # as ranks that have agreed do, none goes before all have reported
"""


def script_of(tmp_path: Path, body: str) -> Path:
    """Write a script that torch need not be imported for."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(PREAMBLE) + textwrap.dedent(body))
    return script


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param("", 0, id="done without hooks"),
        pytest.param("report('finished')", 0, id="finished"),
        pytest.param("report('running')", 0, id="left early with 0"),
        pytest.param("report('finished'); sys.exit(3)", 3, id="finished and failed after it"),
        pytest.param(
            "report('finished'); os.kill(os.getpid(), signal.SIGSEGV)", 0, id="finished and killed"
        ),
        pytest.param("report('saved'); sys.exit(75)", 75, id="preempted"),
        pytest.param("report('saved')", 75, id="preempted and read the outcome"),
        pytest.param(
            "report('saved'); os.kill(os.getpid(), signal.SIGKILL)", 75, id="killed after saving"
        ),
        pytest.param("report('saved'); 1 / 0", 75, id="raised after saving"),
        pytest.param("report('running'); sys.exit(75)", 75, id="the script's own 75"),
        pytest.param("report('running'); sys.exit(3)", 3, id="the script's own code"),
        pytest.param("report('running'); 1 / 0", 1, id="a bug"),
        pytest.param("report('running'); os.kill(os.getpid(), signal.SIGKILL)", 137, id="killed"),
        pytest.param("os.kill(os.getpid(), signal.SIGSEGV)", 139, id="segmentation fault"),
        pytest.param(
            "sys.exit(5) if RANK == 1 else time.sleep(30)",
            5,
            id="a bug on one rank only",
        ),
        pytest.param(
            """
            report('saved' if RANK == 0 else 'running')
            if RANK == 1:
                sys.exit(4)
            time.sleep(30)
            """,
            4,
            id="one saved and one crashed",
        ),
    ],
)
def test_launch_exits_with_what_the_ranks_have_left(tmp_path: Path, body: str, code: int) -> None:
    """Result files decide; without one, the way a rank died does."""
    with launch(tmp_path / "out", script_of(tmp_path, body)) as running:
        assert running.wait() == code, running.output
        assert running.report["exit_code"] == code


def test_launch_starts_nothing_while_a_stop_is_in_force(tmp_path: Path) -> None:
    """Exit 75 at once, and the script has not run."""
    put_flag(tmp_path / "out" / "run")
    with launch(tmp_path / "out", script_of(tmp_path, "pathlib.Path('ran').touch()")) as running:
        assert running.wait() == 75, running.output
        assert "nothing started" in running.report["reason"]
    assert not Path("ran").exists()


def test_launch_starts_when_the_notice_is_advice(tmp_path: Path) -> None:
    """A rebalance recommendation keeps nobody from starting."""
    put_flag(tmp_path / "out" / "run", urgency="advisory")
    with launch(tmp_path / "out", script_of(tmp_path, "report('finished')")) as running:
        assert running.wait() == 0, running.output


def test_launch_starts_when_the_notice_is_long_overdue(tmp_path: Path) -> None:
    """A node that outlived its deadline by more than ten minutes works again, with a warning."""
    put_flag(tmp_path / "out" / "run", left_s=-700)
    with launch(tmp_path / "out", script_of(tmp_path, "report('finished')")) as running:
        assert running.wait() == 0, running.output
        assert "long past its deadline" in running.output


def test_launch_exits_75_when_it_is_stopped_before_any_rank_has_begun(tmp_path: Path) -> None:
    """SIGTERM while the ranks still import: nothing was there to save."""
    script = script_of(
        tmp_path, f"pathlib.Path({str(tmp_path)!r}, f'up{{RANK}}').touch(); time.sleep(60)"
    )
    with launch(tmp_path / "out", script) as running:
        wait_until(lambda: len(list(tmp_path.glob("up*"))) == 2, "both ranks")
        running.process.send_signal(signal.SIGTERM)
        assert running.wait() == 75, running.output


def test_launch_exits_130_when_it_is_interrupted_by_hand(tmp_path: Path) -> None:
    """Ctrl-C is no preemption: nobody should start it again."""
    up = f"pathlib.Path({str(tmp_path)!r}, f'up{{RANK}}')"
    script = script_of(tmp_path, f"{up}.touch(); time.sleep(60)")
    with launch(tmp_path / "out", script) as running:
        wait_until(lambda: len(list(tmp_path.glob("up*"))) == 2, "both ranks")
        running.process.send_signal(signal.SIGINT)
        assert running.wait() == 128 + signal.SIGINT, running.output


def test_launch_exits_75_when_it_is_stopped_while_it_waits_for_another_node(
    tmp_path: Path,
) -> None:
    """SIGTERM in the rendezvous, before torchrun handles signals: 75, not a crash."""
    options = ["--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", "--master-port=0"]
    with launch(tmp_path / "out", script_of(tmp_path, ""), options=options) as running:
        handler = f"/proc/{running.process.pid}/status"
        wait_until(lambda: catches_sigterm(handler), "the launcher to handle SIGTERM")
        running.process.send_signal(signal.SIGTERM)
        assert running.wait() == 75, running.output


def catches_sigterm(status: str) -> bool:
    """Tell whether a process has a handler for SIGTERM."""
    lines = Path(status).read_text(encoding="ascii").splitlines()
    caught = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def test_ranks_start_nothing_when_their_launcher_died_before_they_began(tmp_path: Path) -> None:
    """A launcher killed while its ranks still import: they take part in nothing."""
    (tmp_path / "log").mkdir()
    arguments = [str(tmp_path / "checkpoints"), str(tmp_path / "log")]
    with launch(tmp_path / "out", TINY_MAIN, *arguments) as running:
        ranks = children_of(running)
        running.process.kill()
        wait_until(lambda: not any(Path(f"/proc/{r}").exists() for r in ranks), "ranks to end")
    assert list((tmp_path / "log").iterdir()) == []
    assert not (tmp_path / "checkpoints").exists()


def children_of(running: Launch) -> list[str]:
    """Return the pids of a launch's two ranks, once they are there."""
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
    wait_until(lambda: len(children.read_text().split()) == 2, "both ranks")
    return children.read_text().split()


@pytest.mark.slow
def test_a_wrapper_between_launcher_and_ranks_changes_nothing(tmp_path: Path) -> None:
    """The ranks' parent need not be the launcher."""
    (tmp_path / "log").mkdir()
    wrapper = tmp_path / "wrap.sh"
    wrapper.write_text(f'#!/bin/sh\n"{sys.executable}" "$@"\nexit $?\n')
    wrapper.chmod(0o755)
    arguments = [str(TINY_MAIN), str(tmp_path / "checkpoints"), str(tmp_path / "log")]
    with launch(tmp_path / "out", wrapper, *arguments, options=["--no-python"]) as running:
        assert running.wait() == 0, running.output
    assert len((tmp_path / "log" / "rank_0.jsonl").read_text().splitlines()) == 30


def test_preempted_ranks_are_not_restarted_on_their_node(tmp_path: Path) -> None:
    """With --max-restarts left, a preemption still ends the launch, after one start."""
    body = f"""
        with open({str(tmp_path / "starts")!r}, "a") as file:
            file.write("x")
        report('saved'); sys.exit(75)
    """
    options = ["--max-restarts=3"]
    with launch(tmp_path / "out", script_of(tmp_path, body), options=options) as running:
        assert running.wait() == 75, running.output
    assert len((tmp_path / "starts").read_text()) == 2


def test_crashed_ranks_are_restarted_and_judged_by_their_last_start(tmp_path: Path) -> None:
    """A restart works as in torchrun, and what the crashed ranks have left is forgotten."""
    body = """
        report('running')
        restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
        report('finished') if restarts else sys.exit(5)
    """
    options = ["--max-restarts=1"]
    with launch(tmp_path / "out", script_of(tmp_path, body), options=options) as running:
        assert running.wait() == 0, running.output


def test_launch_waits_for_the_ranks_when_it_is_told_to_stop_again_and_again(
    tmp_path: Path,
) -> None:
    """Three SIGTERMs and a SIGUSR1 later the ranks still get the time they need."""
    body = f"""
        signal.signal(signal.SIGTERM, lambda *_: None)
        signal.signal(signal.SIGUSR1, lambda *_: None)
        report('running')
        pathlib.Path({str(tmp_path)!r}, f'up{{RANK}}').touch()
        while not pathlib.Path({str(tmp_path)!r}, 'told').exists():
            time.sleep(0.05)
        report('saved'); sys.exit(75)
    """
    with launch(tmp_path / "out", script_of(tmp_path, body)) as running:
        wait_until(lambda: len(list(tmp_path.glob("up*"))) == 2, "both ranks")
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGTERM, signal.SIGUSR1):
            running.process.send_signal(number)
            time.sleep(0.3)
        (tmp_path / "told").touch()
        assert running.wait() == 75, running.output


def test_launch_exits_75_when_it_is_stopped_while_it_still_imports(tmp_path: Path) -> None:
    """Its own first seconds are covered too."""
    with launch(tmp_path / "out", script_of(tmp_path, "")) as running:
        status = f"/proc/{running.process.pid}/status"
        wait_until(lambda: catches_sigterm(status), "the handler")
        running.process.send_signal(signal.SIGTERM)
        assert running.wait() == 75, running.output


@pytest.mark.slow
def test_training_goes_on_when_the_result_directory_has_vanished(tmp_path: Path) -> None:
    """A cleaner of /tmp costs the launcher's knowledge, not the run."""
    (tmp_path / "log").mkdir()
    arguments = [str(tmp_path / "checkpoints"), str(tmp_path / "log"), "-1", "remove-results"]
    with launch(tmp_path / "out", TINY_MAIN, *arguments) as running:
        assert running.wait() == 0, running.output
        assert "the launcher cannot be told" in running.output


def test_launch_exits_with_the_signal_when_ranks_do_not_save_in_time(tmp_path: Path) -> None:
    """Ranks that were training and ignored SIGTERM: 128 + n, counted as a crash."""
    body = f"""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        report('running')
        pathlib.Path({str(tmp_path)!r}, f'up{{RANK}}').touch()
        time.sleep(60)
    """
    with launch(tmp_path / "out", script_of(tmp_path, body), options=["--window=6"]) as running:
        wait_until(lambda: len(list(tmp_path.glob("up*"))) == 2, "both ranks")
        running.process.send_signal(signal.SIGTERM)
        assert running.wait() == 128 + signal.SIGTERM, running.output


def test_launch_gives_the_ranks_the_window_and_fresh_stores(tmp_path: Path) -> None:
    """The environment that ranks need is set, and the soft file limit raised."""
    body = """
        import resource
        assert os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"
        assert os.environ["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "85"
        assert os.environ["REPRIEVE_GRACE_S"] == "85"
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft == hard
        report('finished')
    """
    with launch(tmp_path / "out", script_of(tmp_path, body), options=["--window=90"]) as running:
        assert running.wait() == 0, running.output


def test_launch_exits_78_when_no_checkpoint_can_be_kept(tmp_path: Path) -> None:
    """On no node and at no time: nobody should start it again before it is mended."""
    (tmp_path / "log").mkdir()
    (tmp_path / "file").touch()
    arguments = [str(tmp_path / "file" / "checkpoints"), str(tmp_path / "log")]
    with launch(tmp_path / "out", TINY_MAIN, *arguments) as running:
        assert running.wait() == 78, running.output
        why = running.report["reason"]
        # Whose process ends first is chance, and the other may be ended before it has said it.
        assert why.startswith(tuple(f"rank {n}: DirectoryError: checkpoint_dir" for n in (0, 1)))
        assert "cannot be written (Not a directory)" in why
        assert "/tests/support/tiny.py:" in why  # where, and no traceback through our own files
        assert "Traceback" not in running.output


def test_launch_exits_with_the_bug_when_one_rank_of_a_hooked_run_raises(tmp_path: Path) -> None:
    """The exception comes out as itself, its rank exits 1, and the launch with it."""
    (tmp_path / "log").mkdir()
    arguments = [str(tmp_path / "checkpoints"), str(tmp_path / "log"), "7"]
    with launch(tmp_path / "out", TINY_MAIN, *arguments) as running:
        assert running.wait() == 1, running.output
        assert "ValueError: a bug of the script" in running.output
        peer, failed = (result["state"] for result in running.report["results"])
        assert failed == "running"
        assert peer in ("running", "lost")  # ended by the agent, or by the connection before that
    with launch(tmp_path / "out", TINY_MAIN, *arguments[:2]) as running:
        assert running.wait() == 0, running.output
