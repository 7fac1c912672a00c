"""``reprieve-trainer stop``: who is asked, who has heard, and what is said where nobody is."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from trainer_hooks import cli
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.stop_request import FOLDER, asked, confirm
from trainer_hooks.commands.stopping import STARTING, stop_run
from trainer_hooks.errors import CheckpointError
from trainer_hooks.waste import ledger
from trainer_hooks.waste.records import Begin, Outcome


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two attempts were made there."""
    start_attempt(tmp_path)
    start_attempt(tmp_path)
    return tmp_path


def options(root: Path, **changes: object) -> Namespace:
    """Return a command line that has been read."""
    read = {"directory": str(root), "reason": "enough", "wait": 2.0, "json": False} | changes
    return Namespace(**read)


def leave(root: Path, number: int) -> None:
    """Let an attempt leave in order."""
    begin = Begin(at=1.0, attempt=number, token="5f3c", gpus=1, nodes=1, resumed_step=0)  # noqa: S106 - of an attempt
    record = ledger.Ledger(root, begin)
    record.close(Outcome.FINISHED, 9)


@pytest.mark.parametrize("as_json", [False, True])
def test_user_is_told_when_the_run_has_heard(
    root: Path,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,  # noqa: FBT001 - a case's
) -> None:
    """Which attempt, at which step; the reason has come through."""

    def hear(_: float) -> None:
        assert asked(root, 2) == "enough"
        confirm(root, 2, 1234)

    assert stop_run(options(root, json=as_json), pause=hear) == 0
    said = capsys.readouterr().out
    if as_json:
        assert json.loads(said) == {"directory": str(root), "attempt": 2, "step": 1234}
    else:
        assert said.startswith(f"attempt 2 of {root} has heard at step 1234: ")


def test_nothing_is_asked_any_more_when_nobody_has_heard(root: Path) -> None:
    """A run that has hung so long is not stopped an hour later, behind the user's back."""
    pauses: list[float] = []
    with pytest.raises(CheckpointError, match=r"attempt 2 of .* has not heard for 2 s"):
        stop_run(options(root), pause=pauses.append)
    assert sum(pauses) == 2.0
    assert list((root / FOLDER).iterdir()) == []


def test_nothing_is_asked_any_more_when_the_user_breaks_off(root: Path) -> None:
    """Ctrl-C takes the request back."""

    def break_off(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_run(options(root), pause=break_off)
    assert list((root / FOLDER).iterdir()) == []


def test_user_is_told_that_the_run_stops_when_it_has_heard_before_the_user_breaks_off(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between two looks: it is too late to take it back."""

    def break_off_too_late(_: float) -> None:
        confirm(root, 2, 1234)
        raise KeyboardInterrupt

    assert stop_run(options(root), pause=break_off_too_late) == 0
    assert "has heard at step 1234" in capsys.readouterr().out


def test_run_is_not_asked_when_it_has_ended(root: Path) -> None:
    """At once, and with what has become of it."""
    leave(root, 1)
    leave(root, 2)
    why = r"no run is under way in .*: attempt 2 has ended; a run whose ranks are still starting"
    with pytest.raises(CheckpointError, match=why):
        stop_run(options(root), pause=lambda _: pytest.fail("waits"))
    assert not (root / FOLDER).exists()


def test_user_waits_no_longer_when_the_run_ends_by_itself(root: Path) -> None:
    """It has finished before it looked."""
    with pytest.raises(CheckpointError, match="attempt 2 has ended"):
        stop_run(options(root), pause=lambda _: leave(root, 2))
    assert list((root / FOLDER).iterdir()) == []


def test_exit_code_says_who_is_wrong_when_there_is_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """78 for a path that is none, 1 for a directory that no run has ever been in."""
    assert cli.run(["stop", str(tmp_path / "none")]) == 78
    assert f"is no directory; {STARTING}" in capsys.readouterr().err
    assert cli.run(["stop", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "no run has ever begun in" in said
    assert STARTING in said


def test_help_teaches_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """What happens, from where, and who would start the job again."""
    assert cli.run(["stop", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(words in said for words in ("exits with 75", "any machine", "scheduler", "--json"))
