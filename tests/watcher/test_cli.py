"""The command line: what it prints, and the status it ends with."""

import json
import os
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import watcher
from watcher import cli, start


def status(*argv: str) -> object:
    """Run the command line in this process and return its exit status."""
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    return caught.value.code


@pytest.fixture(autouse=True)
def bare_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this machine's own settings out, and the tests' logging as it is."""
    monkeypatch.setattr(cli, "start_logging", lambda *_: None)
    for name in os.environ:
        if name.startswith(("REPRIEVE_", "AWS_")):
            monkeypatch.delenv(name)


def test_check_config_shows_each_value_and_its_origin_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """File, environment and defaults side by side, in the file's own spelling."""
    file = tmp_path / "watcher.toml"
    file.write_text('[faces]\nlisten = "127.0.0.1:0"\n')
    monkeypatch.setenv("REPRIEVE_RUN_DIR", "/somewhere")
    assert status("check-config", "--config", str(file)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f'faces.listen = "127.0.0.1:0"  # {file}' in lines
    assert 'run_dir = "/somewhere"  # environment REPRIEVE_RUN_DIR' in lines
    assert 'signal.name = "SIGTERM"  # default' in lines
    assert "signal.pid_file = (not set)  # default" in lines


def test_check_config_prints_one_object_when_asked_for_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """For programs."""
    assert status("check-config", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["faces.blind_limit_s"] == {"value": 10.0, "origin": "default"}
    assert shown["signal.pid_file"] == {"value": None, "origin": "default"}


def test_check_config_round_trips_when_its_output_is_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it prints is TOML that sets the same values."""
    status("check-config")
    shown = capsys.readouterr().out.splitlines()
    file = tmp_path / "watcher.toml"
    file.write_text("\n".join(line for line in shown if "(not set)" not in line))
    assert status("check-config", "--config", str(file)) == 0
    values = [line.partition("  # ")[0] for line in capsys.readouterr().out.splitlines()]
    assert values == [line.partition("  # ")[0] for line in shown]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("check-config", "--config", "/nonexistent.toml"), "/nonexistent.toml"),
        (("run", "--cloud", "moon"), "cloud has to be one of auto, none, aws"),
        (("run", "--listen", "9765"), "faces.listen has to be HOST:PORT"),
        (("run", "--run-dir", "/nonexistent"), "/nonexistent"),
        (("run", "--run-dri", "/x"), "unrecognized arguments: --run-dri"),
        (("run", "--run"), "--run"),
        (("walk",), "walk"),
        ((), "COMMAND"),
        (("simulate",), "CLOUD"),
        (("simulate", "aws", "--notice-after", "-1"), "--notice-after must be 0"),
    ],
)
def test_status_is_78_with_the_reason_when_something_is_to_be_mended(
    argv: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One class of mistakes, one status: settings, options, and the machine's set-up."""
    assert status(*argv) == os.EX_CONFIG
    out, err = capsys.readouterr()
    assert reason in err
    assert out == ""


def test_status_is_1_with_a_traceback_when_there_is_a_bug(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug is told from a mistake in the settings, so that the service manager tries again."""

    def fail(_config: object) -> None:
        raise ExceptionGroup("unhandled", [TypeError("a bug")])

    monkeypatch.setattr(start, "run", fail)
    assert status("run") == 1
    assert "TypeError: a bug" in caplog.text


def test_status_is_a_signals_when_a_person_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at a command that waits for its input leaves no traceback."""

    def wait(_config: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(start, "run", wait)
    assert status("run") == 130


HELPS = [
    ("--help",),
    ("run", "--help"),
    ("simulate", "aws", "--help"),
    ("check-config", "--help"),
]


@pytest.mark.parametrize("argv", HELPS)
def test_help_shows_an_example_when_asked(
    argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Help teaches."""
    assert status(*argv) == 0
    assert "example" in capsys.readouterr().out


@pytest.mark.ranks
def test_imports_stay_light_when_every_module_is_loaded() -> None:
    """A daemon beside the job must not cost what the job costs."""
    names = [
        module.name
        for module in pkgutil.walk_packages(watcher.__path__, "watcher.")
        if not module.name.endswith("__main__")
    ]
    assert "watcher.sources.aws_imds" in names
    heavy = ("torch", "numpy", "boto3", "botocore")
    code = (
        f"import importlib, sys; [importlib.import_module(name) for name in {names!r}]; "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.ranks
def test_module_is_the_command_when_run_as_one() -> None:
    """``python -m watcher`` works where the script is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "watcher", "check-config", "--json"],
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert "cloud" in json.loads(done.stdout)


def test_version_is_the_packages_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """One place says it."""
    assert status("--version") == 0
    assert capsys.readouterr().out == f"reprieve-watcher {version('reprieve')}\n"


def test_check_config_names_the_nearest_setting_when_a_variable_is_mistyped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, so that what is printed stays TOML."""
    monkeypatch.setenv("REPRIEVE_RUNDIR", "/x")
    assert status("check-config") == 0
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "REPRIEVE_RUNDIR sets nothing; the nearest setting is REPRIEVE_RUN_DIR" in err
    assert "RUNDIR" not in out
