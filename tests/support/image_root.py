"""What the Containerfile puts into an image, put into an empty directory without an engine.

The steps are the Containerfile's: an environment without pip, our wheel in it, and what the extras
need by the same pins. That comes from this test's own environment, so that no network is needed.
"""

import compileall
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "deploy" / "daemonset" / "Containerfile"


def sources() -> set[str]:
    """Return what the Containerfile copies out of the repository."""
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE.read_text(), re.MULTILINE)
    return {word for line in lines for word in line.split()}


def closure(extra: str) -> dict[str, Distribution]:
    """Return the distributions that reprieve needs with an extra, by name, without itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: dict[str, Distribution] = {}
    waiting = [
        Requirement(line)
        for line in (*project["dependencies"], *project["optional-dependencies"][extra])
    ]
    while waiting:
        wanted = waiting.pop()
        dist = distribution(wanted.name)
        found[canonicalize_name(wanted.name)] = dist
        for line in dist.requires or []:
            needed = Requirement(line)
            if canonicalize_name(needed.name) not in found and _applies(needed, wanted.extras):
                waiting.append(needed)
    return found


def _applies(needed: Requirement, extras: set[str]) -> bool:
    marker = needed.marker
    return marker is None or any(marker.evaluate({"extra": one}) for one in extras or {""})


def files_of(dist: Distribution) -> Iterator[tuple[Path, Path]]:
    """Yield each file of a distribution: where it is, and its place among the packages."""
    for file in dist.files or []:
        path = Path(str(dist.locate_file(file)))
        if ".." not in file.parts and path.exists():
            yield path, Path(str(file))


def build_wheel(directory: Path) -> Path:
    """Return our wheel, built of what the Containerfile copies and nothing else."""
    context = directory / "context"
    context.mkdir()
    for name in sources():
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, context / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, context / name)
    # The tests have what builds it; the Containerfile lets pip fetch that.
    _pip("wheel", "--no-build-isolation", f"--wheel-dir={directory}", str(context))
    (wheel,) = directory.glob("*.whl")
    return wheel


def install(root: Path, wheel: Path, extra: str) -> None:
    """Make the environment that an image has as /opt/reprieve."""
    venv.create(root, with_pip=False, symlinks=True)
    _pip(f"--python={root / 'bin' / 'python'}", "install", str(wheel))
    (packages,) = root.glob("lib/python3*/site-packages")
    for dist in closure(extra).values():
        for source, place in files_of(dist):
            target = packages / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    # As pip does it: it is part of the size, and of how fast the daemon starts.
    assert compileall.compile_dir(packages, quiet=2)


def size_bytes(root: Path) -> int:
    """Return what the files in a directory take."""
    return sum(path.lstat().st_size for path in root.rglob("*") if not path.is_dir())


def _pip(*words: str) -> None:
    options = [one for one in words if one.startswith("--python")]
    rest = [one for one in words if one not in options]
    command = [sys.executable, "-m", "pip", *options, rest[0], "--no-index", "--no-deps", *rest[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
