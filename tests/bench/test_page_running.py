"""The run of all benches: with fake ones, among them a bad one."""

import json
from pathlib import Path

import pytest
from page.__main__ import main
from page.running import judged, run_all, summary
from page.stored import read

GOOD = """
import json, sys
assert sys.argv[1:] == ["--small"]
print("a table")
print(json.dumps({"bench": "good", "missed": False, "ours": {"median": 2.0, "ci95": [1.5, 3.0]}}))
"""
MISSES = 'import json\nprint(json.dumps({"missed": ["stall"]}))\nraise SystemExit(1)\n'
FAILS = "raise OSError('no moto here')\n"


@pytest.fixture
def benches(tmp_path: Path) -> Path:
    """Return a folder with one bench that fails, one that is well and one that misses."""
    folder = tmp_path / "bench"
    folder.mkdir()
    for name, text in {"a_fails": FAILS, "good": GOOD, "misses": MISSES}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_run_goes_on_and_names_the_bad_ones_when_a_bench_fails(
    benches: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All have run, the exit status is 1, and each has its file and its section."""
    results, page = tmp_path / "results", tmp_path / "site" / "index.html"
    folders = [f"--benches={benches}", f"--results={results}", f"--page={page}"]
    assert main(folders) == 1
    said = capsys.readouterr().out
    assert "[2/3] good ... met" in said
    assert "a_fails failed: exit status 1, and no result:" in said
    assert "OSError: no moto here" in said
    assert said.endswith("misses missed its target\n")
    stored = {name: read(results / f"{name}.json") for name in ("a_fails", "good", "misses")}
    assert [one.verdict for one in stored.values()] == ["failed", "met", "missed"]
    assert stored["good"].machine["cores"]
    assert stored["good"].size == "small"
    html = page.read_text()
    assert all(f'<section id="{name}">' in html for name in stored)
    assert "a_fails (failed), misses (missed)" in html
    assert "1.5 to 3" in html  # of a bench that nobody has described


def test_run_is_well_when_every_target_is_met(benches: Path, tmp_path: Path) -> None:
    """And only the named benches run."""
    folders = [f"--benches={benches}", f"--results={tmp_path}", f"--page={tmp_path / 'page.html'}"]
    assert main(["good", *folders]) == 0
    assert {path.stem for path in tmp_path.glob("*.json")} == {"good"}


def test_name_is_refused_when_there_is_no_such_bench(
    benches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing mistake runs nothing."""
    with pytest.raises(SystemExit) as ended:
        main(["goood", f"--benches={benches}"])
    assert ended.value.code == 2
    assert "no such bench: goood" in capsys.readouterr().err


def test_bench_and_what_it_started_are_ended_when_it_hangs(tmp_path: Path) -> None:
    """A rank that lives on would disturb the next bench: its end of the pipe is closed, too."""
    script = tmp_path / "hangs.py"
    script.write_text(
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "time.sleep(600)\n"
    )
    [stored] = run_all([script], tmp_path / "results", limit_s=1.0)
    assert summary([stored]) == ["hangs failed: it did not end within 1 s"]


@pytest.mark.parametrize(
    ("status", "said", "why"),
    [
        (0, "", "not a word"),
        (0, "all well", "all well"),
        (0, "[1]", "no result"),
        (0, '{"ours": 1}', "no result"),
        (0, '{"missed": true}', "doesn't agree"),
        (1, '{"missed": false}', "doesn't agree"),
        (3, '{"missed": true}', "doesn't agree"),
    ],
)
def test_bench_counts_for_nothing_when_its_last_line_is_no_verdict(
    status: int, said: str, why: str
) -> None:
    """Or when its exit status says otherwise."""
    result, error = judged(status, said, "")
    assert result is None
    assert error is not None
    assert why in error


def test_last_line_counts_when_lines_for_people_stand_before_it() -> None:
    """As every bench prints them."""
    line = json.dumps({"missed": False, "ours": 1})
    assert judged(0, f"a table\n\n{line}\n", "a warning") == ({"missed": False, "ours": 1}, None)
