"""System packages that only some tests need: listed, and installed only where missing."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.image_root import ROOT

SCRIPT, LIST = ROOT / "requirements/system.sh", ROOT / "requirements/system.txt"
NOT_IN_DEBIAN = {"azurite-blob", "gcloud", "java"}
"""Of the Google Cloud CLI and its emulator, and Azure's."""

SOUGHT = re.compile(r"""(?:which|\bprogram)\("([a-z-]+)"\)""")


def listed() -> dict[str, str]:
    """Return packages by program."""
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return {line.split()[0]: line.split()[1] for line in lines}


def run(directory: Path, *words: str, only: dict[str, str]) -> tuple[int, str, str]:
    """Run the script where there are only some programs: name to script; return what it did."""
    for name, text in only.items():
        (directory / name).write_text(f"#!/bin/sh\n{text}\n")
        (directory / name).chmod(0o755)
    for name in {"bash", "dirname", "grep", "sort", "id"} - only.keys():
        (directory / name).symlink_to(str(shutil.which(name)))
    script = directory / "requirements"
    script.mkdir()
    (script / "system.sh").write_text(SCRIPT.read_text().replace(":/usr/sbin:/sbin", ""))
    (script / "system.txt").write_text("# program package\nhere pack-a x\naway pack-b y\n")
    done = subprocess.run(
        ["/bin/bash", str(script / "system.sh"), *words],
        env={"PATH": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_every_program_that_a_test_is_skipped_without_is_listed() -> None:
    """Or `make setup-full` would leave tests out."""
    texts = [path.read_text() for path in (ROOT / "tests").rglob("*.py")]
    sought = {found for text in texts for found in SOUGHT.findall(text)}
    assert {"chromium", "systemd-nspawn", "prometheus"} <= sought
    assert sought - NOT_IN_DEBIAN <= set(listed())


def test_packages_are_named_and_nothing_is_done_when_only_asked(tmp_path: Path) -> None:
    """What CI says at its begin."""
    apt = {"here": "exit 0", "apt-get": "echo called >&2"}
    status, said, wrong = run(tmp_path, "--missing", only=apt)
    assert (status, wrong) == (0, "")
    assert "tests that need pack-b will be skipped" in said
    assert "pack-a" not in said


def test_only_what_is_missing_is_installed(tmp_path: Path) -> None:
    """By root or by sudo."""
    apt = {"here": "exit 0", "apt-get": 'echo "$@"', "sudo": 'exec "$@"'}
    status, said, _ = run(tmp_path, only=apt)
    assert status == 0
    assert said.splitlines()[-1].startswith("install")
    assert said.splitlines()[-1].endswith(" pack-b")


@pytest.mark.parametrize(
    ("only", "status", "words"),
    [({"here": "", "away": ""}, 0, "all are there"), ({"here": ""}, 1, "by hand")],
)
def test_nothing_is_installed_when_all_is_there_or_nobody_could(
    tmp_path: Path, only: dict[str, str], status: int, words: str
) -> None:
    """Elsewhere than on Debian packages have other names."""
    found, said, wrong = run(tmp_path, only=only)
    assert found == status
    assert words in said + wrong


def test_make_and_ci_use_the_script() -> None:
    """CI installs where it can, and says what is skipped where it can't."""
    assert re.search(
        r"^setup-full: setup .*\n\trequirements/system\.sh$", _text("Makefile"), re.MULTILINE
    )
    assert "requirements/system.sh --if-possible" in _text(".ci/run")
    assert os.access(SCRIPT, os.X_OK)


def _text(name: str) -> str:
    return (ROOT / name).read_text()


@pytest.mark.parametrize(
    ("programs", "is_named"),
    [
        pytest.param({"apt-get": "echo $* >&2", "id": "echo 0"}, False, id="root"),
        pytest.param({"apt-get": "echo $* >&2; exit 100", "id": "echo 0"}, True, id="no registry"),
        pytest.param({"apt-get": "echo called >&2", "id": "echo 1000"}, True, id="no root"),
        pytest.param({"id": "echo 0"}, True, id="no Debian"),
    ],
)
def test_packages_are_installed_or_named_when_it_is_done_if_possible(
    tmp_path: Path, programs: dict[str, str], *, is_named: bool
) -> None:
    """CI goes on in any case."""
    only = {"here": "exit 0", "timeout": 'shift; exec "$@"', **programs}
    status, said, wrong = run(tmp_path, "--if-possible", only=only)
    assert status == 0
    assert ("tests that need pack-b will be skipped" in said) == is_named
    assert ("install" in wrong and wrong.rstrip().endswith("pack-b")) == (not is_named)
