"""Drills that are kept: what is read again, and what it comes to over months."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.courses import SURVIVED
from watcher.drill.history import MAX_LINE_BYTES, add, document, read, table, told
from watcher.errors import ConfigError, StartFailed

AT = datetime(2026, 10, 30, 10, 5, 6, tzinfo=UTC)


def test_drills_are_read_as_they_were_kept(tmp_path: Path) -> None:
    """The oldest first, whatever the order of the lines."""
    path = tmp_path / "drills.jsonl"
    add(path, "node-7", SURVIVED, AT.replace(month=11))
    add(path, "node-8", replace(SURVIVED, code=1), AT)
    (lost, survived), odd = read(path)
    assert odd == 0
    assert (lost.at, lost.node, lost.has_survived) == (AT, "node-8", False)
    assert (survived.node, survived.stop_s, survived.window_s) == ("node-7", 4.0, 120)
    assert survived.has_survived


def test_drill_is_the_same_when_its_report_is_read_elsewhere() -> None:
    """A report from a pod is kept where there is a disk."""
    lost = replace(SURVIVED, code=None, ended_s=None, is_code_seen=False)
    for course in (SURVIVED, lost):
        text = json.dumps(document("node-7", course, AT))
        assert told(text) == ("node-7", course, AT)


@pytest.mark.parametrize(
    "change", [{"step": "56"}, {"flag_s": []}, {"schema": 2}, {"code": {}}, {"at": None}]
)
def test_report_is_refused_when_it_is_none(change: dict[str, object]) -> None:
    """It comes from a pipe, where anything may be."""
    said = document("node-7", SURVIVED, AT)
    for text in (json.dumps(said | change), "", "[]", "{}", "[" * 9999):
        with pytest.raises(ConfigError, match="no report of a drill"):
            told(text)


def test_table_has_the_median_of_each_month(tmp_path: Path) -> None:
    """So that a team sees how its stop time changes."""
    path = tmp_path / "drills.jsonl"
    for month, ended_s in ((10, 4.0), (10, 8.0), (10, 30.0), (11, 5.0)):
        add(path, "node-7", replace(SURVIVED, ended_s=ended_s), AT.replace(month=month))
    *_, october, november = table(read(path)[0])
    assert october == "2026-10: median 8.0 s of 3 drills"
    assert november == "2026-11: median 5.0 s of 1 drill"


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"at": "yesterday"},
        {"at": "2026-11-30T10:05:06"},
        {"node": 7},
        {"stop_s": 10**400},
        {"stop_s": float("nan")},
        {"window_s": None},
    ],
)
def test_line_is_passed_over_when_it_makes_no_sense(
    tmp_path: Path, change: dict[str, object]
) -> None:
    """And the others are read all the same."""
    path = tmp_path / "drills.jsonl"
    add(path, "node-7", SURVIVED, AT)
    odd = json.loads(path.read_text()) | change
    path.write_text(f"{json.dumps(odd)}\n{path.read_text()}{{\n")
    drills, count = read(path)
    assert ([one.node for one in drills], count) == (["node-7"], 2)


def test_node_commands_no_terminal_when_its_name_is_hostile(tmp_path: Path) -> None:
    """The file may be shared by many machines."""
    path = tmp_path / "drills.jsonl"
    add(path, "\x1b[2Jnode", SURVIVED, AT)
    assert "\x1b" not in "".join(table(read(path)[0]))


def test_file_has_to_be_there_to_be_read_and_its_place_to_be_written(tmp_path: Path) -> None:
    """Each says what is wrong."""
    with pytest.raises(ConfigError, match="No such file"):
        read(tmp_path / "none")
    with pytest.raises(StartFailed, match="is not kept"):
        add(tmp_path / "none" / "drills.jsonl", "node-7", SURVIVED, AT)


@pytest.mark.parametrize("what", ["/dev/zero", "fifo", "directory"])
def test_what_is_no_file_is_refused_and_not_read_for_ever(tmp_path: Path, what: str) -> None:
    """Nor is somebody waited for who may never write."""
    path = Path(what) if what.startswith("/") else tmp_path / what
    if what == "fifo":
        os.mkfifo(path)
    if what == "directory":
        path.mkdir()
    with pytest.raises(ConfigError, match="is no file of drills"):
        read(path)


def test_line_without_end_is_passed_over_and_the_last_drills_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of gigabytes takes no memory of gigabytes."""
    monkeypatch.setattr("watcher.drill.history.MOST", 2)
    path = tmp_path / "drills.jsonl"
    path.write_bytes(b"x" * (3 * MAX_LINE_BYTES) + b"\n")
    for number in range(3):
        add(path, f"node-{number}", SURVIVED, AT.replace(minute=number))
    drills, odd = read(path)
    assert [one.node for one in drills] == ["node-1", "node-2"]
    assert odd == 4  # as many pieces as it was read in
