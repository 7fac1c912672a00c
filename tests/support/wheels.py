"""Wheels to install: one of this checkout, and one of a version that does not start."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.booted import ROOT

_BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "watcher", "trainer_hooks")

_MAIN = """\
import sys

def main():
    sys.exit(1 if "run" in sys.argv else 0)
"""


def built(directory: Path) -> Path:
    """Build this checkout's wheel, from a copy, so that nothing is left in it."""
    source = directory / "source"
    source.mkdir()
    for name in _BUILT_FROM:
        path = ROOT / name
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, source / name)
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(directory)]
    subprocess.run([*command, str(source)], check=True, capture_output=True)
    [wheel] = directory.glob("*.whl")
    return wheel


def that_does_not_start(directory: Path) -> Path:
    """Make a wheel whose ``reprieve-watcher`` understands any settings, and ends on ``run``."""
    wheel = directory / "reprieve-99.0-py3-none-any.whl"
    info = "reprieve-99.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("broken_watcher.py", _MAIN)
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: reprieve\nVersion: 99.0\n")
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nTag: py3-none-any\nRoot-Is-Purelib: true\n",
        )
        file.writestr(
            f"{info}/entry_points.txt",
            "[console_scripts]\nreprieve-watcher = broken_watcher:main\n",
        )
        file.writestr(f"{info}/RECORD", "")
    return wheel
