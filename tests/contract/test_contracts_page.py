"""docs/contracts.md says what the code does: a reader of the page builds on it."""

import json
import re
from pathlib import Path

import pytest

from trainer_hooks.flag import run_directory
from trainer_hooks.launch.exit_codes import EXIT_CONFIG, EXIT_DONE, EXIT_PREEMPTED
from trainer_hooks.notice_follower import LONGEST_PAUSE_S
from trainer_hooks.notice_url import MAX_ANSWER_BYTES
from watcher.config import Config
from watcher.faces.notice_face import WAIT_LIMIT_S, WAITING_LIMIT
from watcher.notice import NoticeKind, Urgency
from watcher.trainers import TrainerState

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contracts.md").read_text()


def rows(heading: str) -> dict[str, str]:
    """Return the rest of each row by its first cell, from all tables under ``heading``."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| ([^|]+) \| (.*) \|$", section, flags=re.MULTILINE)
    return {first.strip("`"): rest for first, rest in found}


def test_page_lists_exactly_the_fields_of_the_golden_file() -> None:
    """In the order in which the file has them."""
    golden = json.loads((ROOT / "tests" / "contract" / "notice_v1.json").read_text())
    fields = [name for name in rows("notice.json, schema 1") if name != "field"]
    assert fields == list(golden)


def test_page_lists_exactly_the_fields_of_the_golden_trainer() -> None:
    """In the order in which the file has them; and the states that there are."""
    golden = json.loads((ROOT / "tests" / "contract" / "trainer_v1.json").read_text())
    fields = rows("`trainers/<id>.json`, schema 1")
    assert [name for name in fields if name != "field"] == list(golden)
    states = [word for word in re.findall(r"`(\w+)`", fields["state"]) if word != "state"]
    assert states == list(TrainerState)


def test_page_lists_exactly_the_kinds_and_urgencies() -> None:
    """Every word that the two fields can hold."""
    fields = rows("notice.json, schema 1")
    assert re.findall(r"`(\w+)`", fields["kind"]) == list(NoticeKind)
    assert re.findall(r"`(\w+)`", fields["urgency"]) == list(Urgency)


def test_page_names_the_exit_codes_of_launch() -> None:
    """Those that have a meaning of their own."""
    assert {str(code) for code in (EXIT_DONE, EXIT_PREEMPTED, EXIT_CONFIG)} <= rows(
        "Exit codes"
    ).keys()


def test_page_names_the_run_directory_of_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have the same default, and the same variable moves it."""
    monkeypatch.delenv("REPRIEVE_RUN_DIR", raising=False)
    assert Config().run_dir == run_directory()
    assert f"`{run_directory()}`" in PAGE
    monkeypatch.setenv("REPRIEVE_RUN_DIR", "/elsewhere")
    assert run_directory() == Path("/elsewhere")


def test_page_lists_exactly_the_fields_and_limits_of_an_answer_over_http() -> None:
    """In the order in which an answer has them; and what both sides bound it by."""
    heading = "The notice over HTTP, schema 1"
    golden = json.loads((ROOT / "tests" / "contract" / "notice_answer_v1.json").read_text())
    assert list(rows(heading))[1 : 1 + len(golden)] == list(golden)
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    assert f"more than {WAIT_LIMIT_S:.0f} are taken for {WAIT_LIMIT_S:.0f}" in section
    assert f"{WAITING_LIMIT} clients wait at a time" in section
    assert f"Read at most {MAX_ANSWER_BYTES // 1024} KiB" in section
    assert f"pauses that grow to {LONGEST_PAUSE_S:.0f} s" in section
