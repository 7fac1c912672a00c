"""A pilot's log, and a plan from it."""

from pathlib import Path

import pytest

from tests.support.planned import planned, said
from trainer_hooks import cli
from trainer_hooks.errors import ConfigError, UntrustedFileError
from trainer_hooks.waste.estimate import Uptime
from trainer_hooks.waste.pilot import read_pilot

LOG = """\
0,down
95,running
400,stall,8.5
424,lag,24
3100,down
3110,waiting
3500,down
3720,running
4000,stall,7.5
6000,down
6200,running

7200,done
"""


def log(tmp_path: Path, text: str = LOG) -> Path:
    """Write a log."""
    (tmp_path / "pilot.csv").write_text(text)
    return tmp_path / "pilot.csv"


def test_history_is_what_was_written_down_when_a_log_is_read(tmp_path: Path) -> None:
    """Two interruptions, two restarts without the waiting; the first start is none."""
    found = read_pilot(log(tmp_path))
    assert found.uptimes == (
        Uptime(running_s=3005, is_interrupted=True),
        Uptime(running_s=2280, is_interrupted=True),
        Uptime(running_s=1000, is_interrupted=False),
    )
    assert found.restarts_s == (10 + 220, 200)
    assert (found.stalls_s, found.lags_s) == ((8.5, 7.5), (24,))


def test_last_stretch_counts_when_a_pilot_is_under_way(tmp_path: Path) -> None:
    """Up to its last row, uninterrupted."""
    found = read_pilot(log(tmp_path, "0,running\n500,stall,8\n"))
    assert found.uptimes == (Uptime(running_s=500, is_interrupted=False),)
    assert read_pilot(log(tmp_path, "")).uptimes == ()


def test_plan_takes_what_a_pilot_has_measured_when_it_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of the four, and how sure M is."""
    plan = planned(capsys, "plan", "--pilot", str(log(tmp_path)), "--runs", "0", "--nodes", "4")
    assert plan["job_mtbi_s"] == pytest.approx(6285 / 2.5, rel=0.01)
    assert (plan["inputs"]["stall_s"], plan["inputs"]["commit_lag_s"]) == (8, 24)
    assert 200 < plan["inputs"]["restart_s"] < 230
    assert plan["inputs"]["origins"]["M"] == "measured"
    low, high = plan["inputs"]["job_mtbi_90_percent_s"]
    assert high > 4 * low


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0,idle\n", "line 1 is none of its rows"),
        ("0\n", "line 1 is none"),
        ("0,stall\n", "line 1 is none"),
        ("0,running,5\n", "line 1 is none"),
        ("5,running\n3,down\n", "line 2 goes back"),
        ("nan,running\n", "line 1 goes back"),
        ("0,stall,-1\n", "no duration"),
        ("soon,running\n", "line 1 has 'soon' for seconds"),
        ("ä,running\n", "ascii"),
    ],
)
def test_log_is_refused_when_it_makes_no_sense(tmp_path: Path, text: str, why: str) -> None:
    """With the line."""
    with pytest.raises(UntrustedFileError, match=why):
        read_pilot(log(tmp_path, text))


def test_command_is_refused_when_its_log_is_not_there_or_one_of_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a line."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read_pilot(tmp_path / "none.csv")
    both = ["plan", "--ledger", str(tmp_path), "--pilot", str(log(tmp_path))]
    assert cli.run(both) == 78
    assert "give one of them" in capsys.readouterr().err


def test_plan_says_whether_interruptions_cluster_when_a_pilot_had_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten within half an hour, and a day of quiet after them; not so of one an hour."""
    for gap_s, said_of_it in ((180, "interruptions cluster"), (3600, "come at random")):
        downs = [f"{gap_s * n},down\n{gap_s * n + 60},running\n" for n in range(1, 11)]
        text = f"0,running\n100,stall,8\n{''.join(downs)}126400,done\n"
        pilot = str(log(tmp_path, text))
        assert said_of_it in said(capsys, "plan", "--pilot", pilot, "--runs", "0")
