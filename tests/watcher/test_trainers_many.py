"""100,000 files where trainers and requests are looked for: no more work than for a few."""

import os
import stat
from pathlib import Path

import pytest

from watcher import requests, trainers
from watcher.foreign_file import read_foreign
from watcher.requests import Terms, read_requests
from watcher.trainers import FILE_LIMIT, read_trainers

MANY = 100_000

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Opened:
    """Counts what is opened, by the way in which both directories are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._read = read_foreign
        monkeypatch.setattr(trainers, "read_foreign", self.read)
        monkeypatch.setattr(requests, "read_foreign", self.read)

    def read(self, directory: int, name: str, limit_bytes: int) -> tuple[bytes, int]:
        """Read a file as the watcher does."""
        self.count += 1
        return self._read(directory, name, limit_bytes)


def filled(place: Path, name: str) -> None:
    """Put so many files there, whose names are made by a number."""
    place.mkdir()
    for number in range(MANY):
        os.mknod(place / name.format(number), stat.S_IFREG | 0o644)


@pytest.mark.parametrize("name", ["{:06}.json", ".{:06}.draft"])
def test_look_opens_a_fixed_number_when_there_are_100_000_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What was not looked at is unknown, so that nobody is evicted by it."""
    filled(tmp_path / "trainers", name)
    opened = Opened(monkeypatch)
    look = read_trainers(tmp_path, "boot-1")
    assert look.unknown == f"more than {FILE_LIMIT} files in trainers/"
    assert opened.count <= FILE_LIMIT
    assert len(look.refused) <= FILE_LIMIT


def test_requests_are_not_looked_for_beyond_a_limit_when_there_are_100_000(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one of them count."""
    filled(tmp_path / "requests", "{:06}.json")
    opened = Opened(monkeypatch)
    terms = Terms(boot_id="boot-1", uids=frozenset({os.geteuid()}), now_s=1.0)
    assert read_requests(tmp_path, terms).found == ()
    assert opened.count <= requests.FILE_LIMIT
