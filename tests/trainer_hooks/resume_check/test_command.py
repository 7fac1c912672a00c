"""``reprieve-trainer verify-resume`` on jobs of a few shell lines, which write a step log."""

import json
import signal
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainer_hooks import cli

pytestmark = pytest.mark.ranks

JOB = """
    import json, os, pathlib, sys, time
    log = pathlib.Path(os.environ["REPRIEVE_STEP_LOG"], "rank_0.jsonl")
    saved = pathlib.Path(sys.argv[1], "saved")
    step = committed = int(saved.read_text()) if saved.exists() else 0
    began = step
    while step < 12:
        loss = LOSS
        record = dict(step=step, ids=[step], lr=0.1, loss=loss, time=0.0, state=str(step),
                      rng="", threads=1, ranks=1, until=12, committed=committed or None)
        with log.open("a") as file:
            file.write(json.dumps(record) + chr(10))
        step += 1
        if step % 3 == 0:
            aside = saved.with_suffix(".aside")
            aside.write_text(str(step))
            aside.replace(saved)  # whole or not at all: it may be killed at any moment
            committed = step
        time.sleep(0.05)
"""


@pytest.fixture(autouse=True)
def handlers_are_given_back() -> Iterator[None]:
    """Whoever calls the command in a process of their own is ended as before."""
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    yield
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before


def command(tmp_path: Path, loss: str = "1.0 / (step + 1)", *, end: str = "") -> list[str]:
    """Return the command line of a job whose losses are an expression."""
    script = tmp_path / "job.py"
    script.write_text(textwrap.dedent(JOB.replace("LOSS", loss)) + textwrap.dedent(end))
    return ["--", sys.executable, str(script), "{dir}"]


def verify(tmp_path: Path, *arguments: str) -> int:
    """Run the command."""
    return cli.run(["verify-resume", "--out", str(tmp_path / "out"), "--limit", "20", *arguments])


def test_job_is_found_good_when_it_resumes_exactly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed twice, and each time something had been committed since."""
    assert verify(tmp_path, "--json", *command(tmp_path)) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["same"] is True
    assert [start["first_step"] % 3 for start in told["starts"]] == [0, 0, 0]
    assert 0 < told["starts"][1]["first_step"] < told["starts"][2]["first_step"]
    assert {one["aspect"]: one["count"] for one in told["comparisons"]}["losses"] == 12
    assert (tmp_path / "out" / "interrupted" / "start-3.log").exists()


def test_difference_is_told_when_a_resumed_run_goes_another_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In which step, with what usually is behind it; the last line has the verdict."""
    assert verify(tmp_path, "--times", "1", *command(tmp_path, "1.0 / (step + 1) + began")) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("DIFFERS losses: step ")
    assert any("in no state_dict" in line for line in said)
    assert not any("two unbroken runs" in line for line in said)


def test_command_is_blamed_when_it_does_not_repeat_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without a break is other each time: resuming cannot be judged."""
    assert verify(tmp_path, "--times", "1", *command(tmp_path, "float(os.getpid())")) == 1
    assert "perhaps: two unbroken runs differ as well (losses:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("loss", "end", "why"),
    [
        ("saved.unlink(missing_ok=True) or 1.0", "", "nothing was resumed from it"),
        ("1 / 0", "", "ended with code 1 instead of 0"),
        ("1.0", "sys.exit(3)", "ended with code 3 instead of 0"),
        ("1.0; step = 99; continue", "", "has written no steps"),
    ],
)
def test_check_fails_when_the_job_does_not_do_its_part(
    tmp_path: Path, loss: str, end: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the end of its log; that is no verdict on resuming."""
    assert verify(tmp_path, *command(tmp_path, loss, end=end)) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("FAILED ")
    assert why in last


def test_job_has_to_leave_with_75_when_it_is_asked_to_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """This one dies of the SIGTERM."""
    assert verify(tmp_path, "--by", "stop", *command(tmp_path)) == 1
    assert "ended with code -15 instead of 75" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--", "train.py"], "write {dir} where"),
        (["--set", "n", "--", "{dir}{n}"], "--set wants NAME=A,B,C"),
        (["--times", "0", "--", "{dir}"], "--times counts interruptions"),
        (["--", "/no/such/program", "{dir}"], "cannot be run"),
        ([], "required: COMMAND"),
    ],
)
def test_command_line_is_refused_when_it_makes_no_sense(
    tmp_path: Path, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """78, with what would."""
    assert verify(tmp_path, *arguments) == 78
    assert why in capsys.readouterr().err


def test_help_teaches_and_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """It is all that most people read."""
    assert cli.run(["verify-resume", "--help"]) == 0
    said = capsys.readouterr().out
    assert "Exit codes: 0 the same, 1 different" in said
    assert "{dir} stands for a directory of each run's own" in said
