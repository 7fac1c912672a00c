"""The ledger of a run in a bucket: kept on the node, put as a whole, and read by the next start."""

import errno
from pathlib import Path

import pytest

from tests.support.ledgers import example
from tests.support.planned import said
from tests.support.saving import directory_as_bucket
from trainer_hooks import cli
from trainer_hooks.checkpoint.bucket import Bucket
from trainer_hooks.checkpoint.ledger_home import LedgerHome
from trainer_hooks.checkpoint.place import ObjectPlace
from trainer_hooks.waste.ledger import FOLDER, Ledger
from trainer_hooks.waste.lineage import read_attempts
from trainer_hooks.waste.records import Begin, Outcome


@pytest.fixture
def root(tmp_path: Path) -> ObjectPlace:
    """Return a bucket."""
    return directory_as_bucket(tmp_path / "bucket")


def attempt(root: ObjectPlace, number: int) -> list[int]:
    """Make an attempt that leaves a record; return which earlier ones it has known."""
    home = LedgerHome(root)
    known = [earlier.begin.attempt for earlier in read_attempts(home.path)]
    token = "5f3c"  # noqa: S105 - of an attempt, no secret
    begin = Begin(at=1000.0 * number, attempt=number, token=token, gpus=2, nodes=1, resumed_step=0)
    ledger = Ledger(home.path, begin)
    ledger.close(Outcome.STOPPED, 7)
    home.close()
    return known


def test_record_is_read_by_the_next_start_when_it_was_put(root: ObjectPlace) -> None:
    """By each of those to come, and by the report; only its own is put again."""
    assert [attempt(root, number) for number in (1, 2, 3)] == [[], [1], [1, 2]]
    assert sorted(root.bucket.children(FOLDER)) == [f"a{n}-5f3c.jsonl" for n in (1, 2, 3)]
    assert cli.run(["report", root.bucket.url]) == 0


def test_plan_is_made_with_what_a_run_in_a_bucket_has_measured(
    root: ObjectPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with one in a directory: to the last digit."""
    example(tmp_path)
    for path in (tmp_path / FOLDER).iterdir():
        root.bucket.put(f"{FOLDER}/{path.name}", path.read_bytes())
    texts = [
        said(capsys, "plan", "--ledger", place, "--runs", "0")
        for place in (root.bucket.url, str(tmp_path))
    ]
    assert texts[0] == texts[1]
    assert "measured" in texts[0]


@pytest.mark.parametrize("command", [["report"], ["plan", "--ledger"]])
def test_bucket_is_named_when_it_has_no_record(
    command: list[str], root: ObjectPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not the copy that nobody knows of."""
    assert cli.run([*command, root.bucket.url]) == 78
    told = capsys.readouterr().err
    assert f"there is no ledger in {root.bucket.url}" in told


def test_directory_is_its_own_home_when_checkpoints_are_files(tmp_path: Path) -> None:
    """There a line can be appended."""
    home = LedgerHome(tmp_path)
    assert home.path == tmp_path
    home.put()
    home.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a1-5f3c.jsonl.tmp", "b1-5f3c.jsonl", "a1-5f3c.jsonl/more"])
def test_object_is_left_where_it_is_when_it_is_no_record(root: ObjectPlace, name: str) -> None:
    """Nothing of anybody's choice is written on this node."""
    root.bucket.put(f"{FOLDER}/{name}", b"{}")
    home = LedgerHome(root)
    assert [path for path in home.path.rglob("*") if path.is_file()] == []
    home.close()


@pytest.mark.parametrize("call", ["sizes", "get", "put"])
def test_run_goes_on_when_the_store_is_in_trouble(
    root: ObjectPlace, call: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What it has spent is good to know, and no reason to spend more."""
    attempt(root, 1)

    def down(*_: object) -> None:
        raise OSError(errno.EIO, "Service Unavailable")

    monkeypatch.setattr(Bucket, call, down)
    attempt(root, 2)
    assert "Service Unavailable" in caplog.text
