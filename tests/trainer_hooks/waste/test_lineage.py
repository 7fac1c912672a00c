"""Reading a ledger: whose steps have lasted, and what is no ledger."""

import json
from pathlib import Path

import pytest

from tests.support.ledgers import begin, example, write
from trainer_hooks.errors import ConfigError, UntrustedFileError
from trainer_hooks.waste.account import account, timeline
from trainer_hooks.waste.history import history
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.records import Steps, to_json
from trainer_hooks.waste.report import make_report


def test_steps_last_up_to_where_a_later_attempt_began_when_there_is_one(tmp_path: Path) -> None:
    """10 of the first attempt's, 20 of the second's, all of the last one's."""
    attempts = example(tmp_path)
    assert [attempt.kept_steps for attempt in attempts] == [10, 20, None]
    assert attempts[0].is_kept(10)
    assert not attempts[0].is_kept(11)
    assert attempts[2].is_kept(30)


def test_steps_are_undone_for_all_before_when_a_run_is_rolled_back(tmp_path: Path) -> None:
    """Attempts are ordered as numbers; the fourth and the tenth begin earlier than others."""
    resumed = {1: 0, 2: 50, 4: 20, 9: 70, 10: 60}
    write(
        tmp_path,
        *([begin(number, 1000.0 * number, step)] for number, step in resumed.items()),
    )
    attempts = read_ledger(tmp_path)
    assert [attempt.begin.attempt for attempt in attempts] == [1, 2, 4, 9, 10]
    assert [attempt.kept_steps for attempt in attempts] == [20, 20, 60, 60, None]


def test_ledger_is_refused_when_there_is_none(tmp_path: Path) -> None:
    """With where it was looked for."""
    with pytest.raises(ConfigError, match=r"no ledger in .*\.ledger"):
        read_ledger(tmp_path)


def test_attempt_is_passed_over_when_its_first_line_was_torn(tmp_path: Path) -> None:
    """Nothing is known of it."""
    write(tmp_path, [begin(1, 1000.0)])
    (tmp_path / FOLDER / "a2-5f3c.jsonl").write_bytes(b'{"what":"beg')
    (attempt,) = read_ledger(tmp_path)
    assert attempt.begin.attempt == 1


def test_lines_are_passed_over_and_counted_when_they_are_damaged(tmp_path: Path) -> None:
    """The others count."""
    write(tmp_path, [begin(1, 1000.0), Steps(first=0, end=5, began=1001, ended=1006)])
    path = tmp_path / FOLDER / "a1-5f3c.jsonl"
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n[[[[\n{}\n" + b"[" * 5000 + b"\n")
    (attempt,) = read_ledger(tmp_path)
    assert len(attempt.steps) == 1
    assert attempt.torn_lines == 4


def test_nothing_is_counted_twice_when_lines_are_there_twice_and_in_any_order(
    tmp_path: Path,
) -> None:
    """As after a copy that was broken off and begun again: the rest of the run is not lost."""
    attempts = example(tmp_path)
    segments = timeline(attempts)
    path = tmp_path / FOLDER / "a1-5f3c.jsonl"
    head, *lines = path.read_text().splitlines(keepends=True)
    other = json.dumps(to_json(begin(9, 5000.0))) + "\n"
    path.write_text("".join([head, other, *reversed(lines), head, *lines]))
    copied = read_ledger(tmp_path)
    assert copied[0].torn_lines == 2
    assert account(timeline(copied)) == account(segments)
    found, before = history(copied, timeline(copied)), history(attempts, segments)
    assert (found.uptimes, found.restarts_s) == (before.uptimes, before.restarts_s)
    health = make_report(tmp_path).health
    assert (health.saves, health.commits) == (3, 3)


def test_ledger_is_refused_when_a_file_is_none_of_ours(tmp_path: Path) -> None:
    """A link to somebody else's."""
    write(tmp_path, [begin(1, 1000.0)])
    path = tmp_path / FOLDER / "a1-5f3c.jsonl"
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(UntrustedFileError):
        read_ledger(tmp_path)
