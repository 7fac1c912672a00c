"""`make demo` as a whole: it survives, says so in its last line, and cleans up after a Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from demo import MARK, claim

from trainer_hooks.resume_check.stage import Failed

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"
LIMIT_S = 150


@pytest.mark.e2e
@pytest.mark.timeout(LIMIT_S + 10)
def test_demo_survives_when_a_node_is_taken(tmp_path: Path) -> None:
    """Notice, agreement, commit, exit 75, exact resume: everything known, everything equal."""
    command = [sys.executable, str(DEMO), "--steps", "60", "--out", str(tmp_path / "out"), "--json"]
    demo = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert demo.stderr.splitlines()[-1].startswith("SURVIVED all ranks left "), demo.stderr
    assert demo.returncode == 0
    told = json.loads(demo.stdout)
    assert (told["survived"], told["lost_because"]) == (True, None)
    since_s = told["since_notice_s"]
    assert None not in since_s.values()
    chain = ("issued", "heard", "flag_written", "agreed", "saved", "exited", "restarted")
    assert [since_s[name] for name in chain] == sorted(since_s[name] for name in chain)
    assert since_s["restarted"] < since_s["resumed"] < since_s["caught_up"] < since_s["finished"]
    assert told["to_spare_s"]["120"] == pytest.approx(120 - since_s["exited"])
    assert told["exit_code"] == 75
    assert told["resumed_step"] == told["committed_step"]
    assert told["committed_step"] == told["stop_step"]
    assert told["steps_redone"] == 0
    assert [one["aspect"] for one in told["comparisons"]] == [
        "steps",
        "sample ids",
        "learning rates",
        "losses",
        "steps redone",
    ]
    assert {one["difference"] for one in told["comparisons"]} == {None}
    assert {one["count"] for one in told["comparisons"][:-1]} == {2 * 60}


@pytest.mark.e2e
def test_demo_is_lost_and_leaves_nothing_behind_when_it_is_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while ranks run ends them and everything else, and is no success."""
    out = tmp_path / "out"
    command = [sys.executable, str(DEMO), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        end = time.monotonic() + LIMIT_S / 3
        while len(ranks_under(out)) < 4 and time.monotonic() < end:
            time.sleep(0.05)
        assert len(ranks_under(out)) >= 4
        demo.send_signal(signal.SIGINT)
        text, _ = demo.communicate(timeout=LIMIT_S / 3)
    assert text.splitlines()[-1] == "LOST the demo was interrupted"
    assert demo.returncode == 1
    assert processes_with(str(out)) == []


def test_output_directory_is_emptied_when_an_earlier_demo_has_made_it(tmp_path: Path) -> None:
    """Nothing of an earlier run is mistaken for this one's."""
    out = tmp_path / "new" / "out"
    with claim(out):
        (out / "interrupted").mkdir()
        (out / "interrupted" / "launch-1.log").touch()
    with claim(out):
        assert [entry.name for entry in out.iterdir()] == [MARK]


def test_output_directory_is_left_alone_when_it_is_not_the_demos(tmp_path: Path) -> None:
    """Somebody's home is not emptied because of a typing error."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(Failed, match="holds files that are not the demo's"), claim(tmp_path):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_output_directory_is_left_alone_when_another_demo_runs_in_it(tmp_path: Path) -> None:
    """Two demos would take each other's logs away, and both be lost."""
    out = tmp_path / "out"
    with claim(out):
        (out / "interrupted").mkdir()
        with pytest.raises(Failed, match="another demo runs in"), claim(out):
            pass
        assert (out / "interrupted").exists()


def test_output_directory_is_refused_when_it_cannot_be_one(tmp_path: Path) -> None:
    """A file in its place is said to be no directory."""
    (tmp_path / "out").touch()
    with pytest.raises(Failed, match="can't be used: File exists"), claim(tmp_path / "out"):
        pass


def ranks_under(out: Path) -> list[str]:
    """Return the command lines of the ranks that write into a directory, and of their workers."""
    return [line for line in processes_with(str(out)) if "-u" in line.split()]


def processes_with(text: str) -> list[str]:
    """Return the command lines of live processes that have ``text`` in them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has just ended
        found += [line] if text in line else []
    return found
