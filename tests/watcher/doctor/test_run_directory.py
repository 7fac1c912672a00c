"""What the doctor says of the run directory, in every state in which a person may leave it."""

import os
import subprocess
from pathlib import Path

import pytest

from watcher.doctor.run_directory import checks
from watcher.finding import Finding, Verdict


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """One as the contract has it."""
    run_dir = tmp_path / "reprieve"
    run_dir.mkdir(mode=0o755)
    for name in ("trainers", "requests"):
        (run_dir / name).mkdir()
        (run_dir / name).chmod(0o1777)
    return run_dir


def wrongs(run_dir: Path) -> dict[str, Finding]:
    """Return what has to be mended, by what was checked."""
    found = checks(run_dir, is_request_heard=True)
    return {one.checked: one for one in found if one.verdict is Verdict.WRONG}


def test_everything_is_ok_when_it_is_as_the_contract_says(run_dir: Path) -> None:
    """Nothing is left behind by looking."""
    before = sorted(run_dir.rglob("*"))
    findings = checks(run_dir, is_request_heard=True)
    assert {one.verdict for one in findings} == {Verdict.OK}, findings
    assert sorted(run_dir.rglob("*")) == before


@pytest.mark.parametrize("is_file", [False, True])
def test_directory_is_wrong_when_there_is_none(run_dir: Path, *, is_file: bool) -> None:
    """One finding, and who makes it."""
    path = run_dir / "elsewhere"
    if is_file:
        path.touch()
    [found] = checks(path, is_request_heard=True)
    assert found.verdict is Verdict.WRONG
    assert "systemd-tmpfiles" in found.todo


@pytest.mark.parametrize(
    ("mode", "words"), [(0o777, "forge a notice"), (0o775, "forge"), (0o700, "can't read the flag")]
)
def test_permissions_are_wrong_when_others_may_more_or_less(
    run_dir: Path, mode: int, words: str
) -> None:
    """The daemon alone writes, everybody reads."""
    run_dir.chmod(mode)
    [found] = wrongs(run_dir).values()
    assert found.checked == "its permissions"
    assert words in found.found


def test_place_is_wrong_when_it_is_missing(run_dir: Path) -> None:
    """Trainers could not report, and a drain would not wait for them."""
    (run_dir / "trainers").rmdir()
    (run_dir / "requests").rmdir()
    assert set(wrongs(run_dir)) == {"trainers/ in it", "requests/ in it"}
    assert wrongs(run_dir)["trainers/ in it"].found == "No such file or directory"


def test_requests_may_be_missing_when_nobodys_would_be_heard(run_dir: Path) -> None:
    """The default; but what is there has to be as it should be, for the day on which one is."""
    (run_dir / "requests").rmdir()
    findings = checks(run_dir, is_request_heard=False)
    assert {one.verdict for one in findings} == {Verdict.OK}, findings
    (run_dir / "requests").mkdir(mode=0o755)
    assert {one.verdict for one in checks(run_dir, is_request_heard=False)} > {Verdict.OK}


def test_directory_is_right_when_it_is_made_by_hand_as_everything_says(tmp_path: Path) -> None:
    """README, docs and the commands' own help have one line for it, whoever's umask it meets."""
    root = Path(__file__).parents[3]
    made = "install -d -m 1777 /tmp/node/trainers /tmp/node/requests"
    docs = ("README.md", *(f"docs/simulator{cloud}.md" for cloud in ("", "-gcp", "-azure")))
    for name in (*docs, "watcher/cli.py", "watcher/simulator/command.py"):
        text = (root / name).read_text(encoding="utf-8")
        assert made in text
        assert "mkdir" not in text, name
    run_dir = tmp_path / "node"
    command = made.replace("/tmp/node", str(run_dir)).split()  # noqa: S108 - a reader's, not ours
    subprocess.run(command, check=True, umask=0o002)
    assert wrongs(run_dir) == {}


@pytest.mark.parametrize(
    ("mode", "words"), [(0o755, "can't all write there"), (0o777, "remove each other's files")]
)
def test_place_is_wrong_when_its_mode_is_another(run_dir: Path, mode: int, words: str) -> None:
    """Sticky and everybody's."""
    (run_dir / "requests").chmod(mode)
    assert words in wrongs(run_dir)["requests/ in it"].found


def test_place_is_wrong_when_it_is_a_link(run_dir: Path, tmp_path: Path) -> None:
    """Whoever made it decides what the daemon reads."""
    (run_dir / "trainers").rmdir()
    (run_dir / "trainers").symlink_to(tmp_path)
    assert wrongs(run_dir)["trainers/ in it"].found == "is no directory"


def test_owner_is_named_when_somebody_else_asks(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most who ask are not the daemon's user, and the right command is worth more than a no."""
    monkeypatch.setattr("watcher.doctor.run_directory.os.access", lambda *_: False)
    [found] = wrongs(run_dir).values()
    assert "sudo -u" in found.todo


def test_room_is_wrong_when_the_file_system_is_full(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag that can't be written is no flag."""
    left = os.statvfs(run_dir)
    full = os.statvfs_result((*left[:4], 1, *left[5:]))
    monkeypatch.setattr("watcher.doctor.run_directory.os.statvfs", lambda _: full)
    [found] = wrongs(run_dir).values()
    assert found.checked == "room in it"
