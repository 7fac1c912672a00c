"""Why a rank's set-up is wrong: one line, with the place in the user's program."""

import os
from pathlib import Path

import pytest

from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.errors import ConfigError
from trainer_hooks.refusal import first_refusal, say_why
from trainer_hooks.results import RESULT_DIR_VARIABLE, forget_results


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in for a launcher that waits for word."""
    monkeypatch.setenv(RESULT_DIR_VARIABLE, str(tmp_path))
    return tmp_path


def refused(monkeypatch: pytest.MonkeyPatch, local_rank: int, why: str) -> None:
    """Be refused as one of the node's ranks, which are the job's from 8 on."""
    monkeypatch.setenv("LOCAL_RANK", str(local_rank))
    monkeypatch.setenv("RANK", str(8 + local_rank))
    say_why(ConfigError(why))


def test_launcher_is_told_the_reason_of_its_first_rank_when_several_are_refused(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the rank that the job knows, in one line, and not of the ranks before a restart."""
    assert first_refusal(results) is None
    refused(monkeypatch, 1, "another reason")
    refused(monkeypatch, 0, "no such\ndirectory")
    said = first_refusal(results)
    assert said is not None
    assert said.startswith(r"rank 8: ConfigError: no such\ndirectory (")
    forget_results(results)
    assert first_refusal(results) is None


def test_place_is_the_line_of_the_users_program_when_the_error_is_from_within_ours(
    results: Path,
) -> None:
    """Whether it was raised through that line, or is said before it comes to it."""
    with pytest.raises(ConfigError) as raised:
        Keep(last=0)
    say_why(raised.value)
    assert str(first_refusal(results)).endswith(f"({__file__}:{raised.traceback[0].lineno + 1})")
    say_why(ConfigError("raised nowhere"))
    assert f"({__file__}:" in str(first_refusal(results))


def test_rank_is_refused_all_the_same_when_the_launcher_cannot_be_told(
    results: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """That costs a word in its last line."""
    monkeypatch.setenv(RESULT_DIR_VARIABLE, str(results / "none"))
    say_why(ConfigError("no such directory"))
    assert "ConfigError: no such directory" in caplog.text
    assert "the launcher cannot be told why" in caplog.text


@pytest.mark.parametrize("what", ["fifo", "directory", "link", "huge"])
def test_launcher_says_so_when_the_reason_cannot_be_read(tmp_path: Path, what: str) -> None:
    """It ends as it would have: it waits for nobody, and takes in no gigabytes."""
    path = tmp_path / "local_rank_000.refusal"
    match what:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to("/etc/passwd")
        case _:
            with path.open("wb") as file:
                file.truncate(2**33)
    assert "local_rank_000.refusal cannot be read" in str(first_refusal(tmp_path))


def test_reason_is_a_line_when_the_users_message_is_a_book(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its middle is left out, in what is left for the launcher too."""
    refused(monkeypatch, 0, "no " * 100_000 + "\ud800 end")
    said = first_refusal(results)
    assert said is not None
    assert len(said) < 700
    assert (results / "local_rank_000.refusal").stat().st_size < 1000
