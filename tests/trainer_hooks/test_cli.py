"""The command line: whose option is whose, and which exit code comes out."""

import json
import signal
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from trainer_hooks import cli
from trainer_hooks.errors import CheckpointError, ConfigError, TrainerHooksError
from trainer_hooks.launch import launcher
from trainer_hooks.launch.report import LaunchReport
from trainer_hooks.signals import ENDING_SIGNALS


class Launched:
    """Stands in for the launch, which starts processes; notes how it was called."""

    def __init__(self) -> None:
        self.torchruns: list[str] = []
        self.window_s: float | None = 0.0
        self.end: LaunchReport | Exception = LaunchReport(exit_code=75, reason="saved")

    def __call__(
        self, arguments: list[str], *, window_s: float | None, **_: object
    ) -> LaunchReport:
        self.torchruns, self.window_s = list(arguments), window_s
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


@pytest.fixture(autouse=True)
def own_sigterm() -> Iterator[None]:
    """Give back the signals that a command may take for itself."""
    taken = (*ENDING_SIGNALS, signal.SIGUSR2)
    before = {number: signal.getsignal(number) for number in taken}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launched:
    """Start nothing."""
    launched = Launched()
    monkeypatch.setattr(launcher, "launch", launched)
    return launched


@pytest.mark.parametrize(
    ("arguments", "window_s", "torchruns"),
    [
        (["train.py"], None, ["train.py"]),
        (["--window", "30", "train.py"], 30.0, ["train.py"]),
        (["--window=30", "train.py"], 30.0, ["train.py"]),
        (["--when-notice", "exit", "--window=30", "train.py"], 30.0, ["train.py"]),
        (["--nproc-per-node=2", "train.py"], None, ["--nproc-per-node=2", "train.py"]),
        (
            ["--window=30", "--nproc-per-node", "2", "train.py", "--window", "5", "-h"],
            30.0,
            ["--nproc-per-node", "2", "train.py", "--window", "5", "-h"],
        ),
        (["train.py", "--report", "x", "--help"], None, ["train.py", "--report", "x", "--help"]),
        (["-m", "--window=3", "module"], None, ["-m", "--window=3", "module"]),
    ],
)
def test_options_are_torchruns_when_they_follow_the_first_of_its_own(
    launched: Launched, arguments: list[str], window_s: float | None, torchruns: list[str]
) -> None:
    """Ours come first; the script's own are never touched."""
    assert cli.run(["launch", *arguments]) == 75
    assert (launched.window_s, launched.torchruns) == (window_s, torchruns)


def test_version_is_said_as_the_watcher_says_it_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The program's name, and one version for both."""
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"reprieve-trainer {version('reprieve')}\n"


def test_exit_code_is_the_launchs_when_it_has_ended(launched: Launched) -> None:
    """main() exits with it."""
    launched.end = LaunchReport(exit_code=139, reason="rank 1 died")
    with pytest.raises(SystemExit) as raised:
        cli.main(["launch", "train.py"])
    assert raised.value.code == 139


@pytest.mark.parametrize("error", [ConfigError("no such thing"), CheckpointError("odd")])
def test_exit_code_is_78_when_an_error_of_ours_comes_out(
    launched: Launched, error: TrainerHooksError, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, without a traceback: a start that cannot work should not be repeated."""
    launched.end = error
    assert cli.run(["launch", "train.py"]) == 78
    assert capsys.readouterr().err == f"reprieve-trainer: {error}\n"


def test_error_is_raised_when_it_is_not_ours(launched: Launched) -> None:
    """A bug keeps its traceback."""
    launched.end = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        cli.run(["launch", "train.py"])


def test_exit_code_outlives_every_signal_when_the_launch_has_ended(launched: Launched) -> None:
    """Python gives handlers back as it ends, and what is ignored stays ignored."""
    launched.end = LaunchReport(exit_code=0, reason="done")
    assert cli.run(["launch", "train.py"]) == 0
    ignored = [signal.getsignal(number) for number in (*ENDING_SIGNALS, signal.SIGUSR2)]
    assert set(ignored) == {signal.SIG_IGN}


def test_report_is_written_when_it_is_asked_for(launched: Launched, tmp_path: Path) -> None:
    """As JSON, with the code and the reason."""
    assert cli.run(["launch", "--report", f"{tmp_path}/report.json", "train.py"]) == 75
    report = json.loads((tmp_path / "report.json").read_text())
    assert report == {"exit_code": 75, "reason": "saved", "results": []}
    assert launched.torchruns == ["train.py"]


@pytest.mark.usefixtures("launched")
def test_exit_code_stands_when_the_report_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is what the scheduler waits for."""
    assert cli.run(["launch", f"--report={tmp_path}/none/report.json", "train.py"]) == 75
    assert "no report was written" in caplog.text


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["launch", "--help"], ["launch", "-h"]])
def test_help_is_given_when_it_is_asked_for(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With the exit codes, which are what people look for."""
    assert cli.run(arguments) == 0
    said = capsys.readouterr().out
    assert "reprieve-trainer" in said
    assert arguments[0] != "launch" or "75    preempted" in said


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["lunch"],
        *[["launch", "--window", odd, "x.py"] for odd in ("soon", "0", "-5", "nan", "inf", "")],
    ],
)
def test_command_line_is_refused_when_it_makes_no_sense(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With what would."""
    assert cli.run(arguments) == 78
    assert "usage: reprieve-trainer" in capsys.readouterr().err
