"""What the doctor finds of a program: there or not, ending as it should or not."""

from pathlib import Path

import pytest

from watcher.finding import Finding, Verdict
from watcher.sources.command_config import CommandConfig
from watcher.sources.command_doctor import checks
from watcher.sources.road import Patient


async def diagnosed(*argv: str, mode: str = "status", limit_s: float = 60.0) -> Finding:
    """Return what is found of one program."""
    config = CommandConfig(argv=argv, mode=mode, limit_s=limit_s)
    (found,) = await checks(config, Patient())
    return found


async def test_nothing_is_said_when_there_is_no_program() -> None:
    """Most machines have none."""
    assert await checks(CommandConfig(), Patient()) == []


@pytest.mark.parametrize(
    ("script", "verdict", "words"),
    [
        ("exit 0", Verdict.OK, "ends with 0: one is in force"),
        ("exit 1", Verdict.OK, "ends with 1: none is in force"),
        ("echo 'no login'; exit 3", Verdict.WRONG, "so that nothing is known: no login"),
        ("echo 'no \033[2Jlogin' >&2; exit 3", Verdict.WRONG, r"no \x1b[2Jlogin"),
    ],
)
async def test_program_is_judged_by_its_status_when_it_is_polled(
    script: str, verdict: Verdict, words: str
) -> None:
    """It is run as the daemon runs it, and its words can't command a terminal."""
    found = await diagnosed("sh", "-c", script)
    assert found.verdict is verdict
    assert words in found.found


async def test_program_is_wrong_when_it_does_not_end() -> None:
    """The daemon would be blind."""
    found = await diagnosed("sleep", "600", limit_s=0.2)
    assert (found.verdict, found.found) == (Verdict.WRONG, "has not ended within 0.2 s")


async def test_program_is_not_run_a_second_time_when_it_prints_lines(tmp_path: Path) -> None:
    """What it takes from a queue, say, would be missing to the daemon."""
    trace = tmp_path / "trace"
    found = await diagnosed("sh", "-c", f"touch {trace}", mode="lines")
    assert found.verdict is Verdict.OK
    assert not trace.exists()


async def test_program_is_wrong_when_it_can_not_be_started(tmp_path: Path) -> None:
    """Two causes, told apart."""
    plain = tmp_path / "plain"
    plain.write_text("exit 1")
    assert (await diagnosed(str(plain))).found == "may not be executed"
    assert (await diagnosed(str(tmp_path / "none"), mode="lines")).found == "is not there"
