"""What trainers ask for: read, and refused."""

import json
import os
from pathlib import Path

import pytest

from watcher.requests import FILE_LIMIT, FRESH_S, Terms, read_requests

GOLDEN = Path(__file__).parents[1] / "contract" / "request_v1.json"
BOOT = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"
TERMS = Terms(boot_id=BOOT, uids={os.getuid()}, now_s=5010.0)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run directory."""
    (tmp_path / "requests").mkdir()
    return tmp_path


def ask(run_dir: Path, name: str = "r-1.json", **changes: object) -> Path:
    """Ask as the golden file does, but for some fields."""
    path = run_dir / "requests" / name
    path.write_text(json.dumps(json.loads(GOLDEN.read_text()) | changes))
    return path


def test_request_is_read_when_it_is_the_golden_one(run_dir: Path) -> None:
    """Word by word."""
    (run_dir / "requests" / "r-1.json").write_bytes(GOLDEN.read_bytes())
    [request] = read_requests(run_dir, TERMS).found
    assert (request.id, request.uid, request.reason) == ("r-1", os.getuid(), "straggler")
    assert request.text.endswith("rank 1 by 29 ms a step")


def test_nothing_is_asked_for_when_there_is_no_directory(tmp_path: Path) -> None:
    """As on nodes without trainers."""
    found = read_requests(tmp_path, TERMS)
    assert (found.found, dict(found.refused)) == ((), {})


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": 2},
        {"ask": "reboot"},
        {"boot_id": "another"},
        {"made_boottime_s": 5010.0 - FRESH_S - 1},
        {"made_boottime_s": 5020.0},
        {"made_boottime_s": True},
        {"made_boottime_s": float("nan")},
        {"reason": "Be gone!"},
        {"reason": None},
        {"text": "two\nlines"},
        {"text": "x" * 501},
    ],
    ids=str,
)
def test_request_is_refused_when_it_says_something_else(
    run_dir: Path, changes: dict[str, object]
) -> None:
    """Each field in turn."""
    ask(run_dir, "r-1.json", **changes)
    found = read_requests(run_dir, TERMS)
    assert found.found == ()
    assert list(found.refused) == ["r-1.json"]


def test_request_is_refused_when_its_user_was_not_named(run_dir: Path) -> None:
    """Whatever it says."""
    ask(run_dir)
    terms = Terms(boot_id=BOOT, uids={os.getuid() + 1}, now_s=5010.0)
    assert "may ask for nothing" in read_requests(run_dir, terms).refused["r-1.json"]


def test_file_is_refused_when_it_is_no_plain_one(run_dir: Path) -> None:
    """A link, a fifo, a second name, a large one, no JSON: none of them is read, nor blocks."""
    good = ask(run_dir, "good.json")
    requests = run_dir / "requests"
    (requests / "link.json").symlink_to(good)
    os.mkfifo(requests / "fifo.json")
    other = ask(run_dir, "other.json")
    (requests / "second.json").hardlink_to(other)
    (requests / "large.json").write_text(" " * 5000)
    (requests / "odd.json").write_text("[" * 4000)
    (requests / "list.json").write_text("[]")
    found = read_requests(run_dir, TERMS)
    assert [request.id for request in found.found] == ["good"]
    assert sorted(found.refused) == [
        f"{name}.json" for name in ("fifo", "large", "link", "list", "odd", "other", "second")
    ]


def test_rest_is_not_looked_at_when_there_are_too_many_files(run_dir: Path) -> None:
    """And the log is told."""
    for number in range(FILE_LIMIT + 5):
        ask(run_dir, f"r-{number}.json")
    found = read_requests(run_dir, TERMS)
    assert len(found.found) == FILE_LIMIT
    assert len(found.refused) == 1
