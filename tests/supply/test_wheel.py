"""The wheel of a commit: the same bytes whoever builds it, wherever and when."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.image_root import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(300)]


def built(checkout: Path, target: Path, *, umask: int, zone: str) -> str:
    """Build it from a clone of its own, and return its digest."""
    subprocess.run(
        ["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True, umask=umask, timeout=100
    )
    subprocess.run(
        [checkout / "deploy" / "release" / "wheel.sh", target],
        check=True,
        umask=umask,
        env=os.environ | {"PYTHON": sys.executable, "TZ": zone, "LC_ALL": "C"},
    )
    (wheel,) = target.glob("*.whl")
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_wheel_has_the_same_bytes_when_two_people_build_it(tmp_path: Path) -> None:
    """Their checkouts are of different times, paths and modes; they live in different zones."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: there is no commit to build")
    first = built(tmp_path / "a", tmp_path / "out-a", umask=0o022, zone="UTC")
    second = built(tmp_path / "other", tmp_path / "out-b", umask=0o077, zone="Asia/Tokyo")
    assert first == second
