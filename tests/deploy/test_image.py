"""What is in the image runs by itself, is small, and has nothing of PyTorch or of a cloud's SDK."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.image_root import (
    CONTAINERFILE,
    ROOT,
    build_wheel,
    closure,
    files_of,
    install,
    size_bytes,
    sources,
)

BASE = ROOT / "deploy" / "daemonset" / "base"

OURS_LIMIT_BYTES = 60 * 2**20
"""Of the 200 MB that an image may have; the rest is for Python's slim one (some 130 MB)."""

HEAVY = ("torch", "numpy", "boto3", "botocore", "google", "matplotlib", "yaml", "pytest", "pip")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment like the image's, with the extra that the Containerfile takes."""
    directory = tmp_path_factory.mktemp("image")
    install(directory / "root", build_wheel(directory), _default_extra())
    return directory / "root"


def _default_extra() -> str:
    (extra,) = re.findall(r"^ARG EXTRAS=(\S+)$", CONTAINERFILE.read_text(), re.MULTILINE)
    return str(extra)


def _run(root: Path, *words: str) -> str:
    """Run a program of the image with nothing else in sight, and return what it says."""
    done = subprocess.run(
        [root / "bin" / words[0], *words[1:]],
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.e2e
def test_image_runs_when_nothing_else_is_installed(root: Path) -> None:
    """The command line, and the settings that the ConfigMap brings."""
    assert "simulate" in _run(root, "reprieve-watcher", "--help")
    shown = _run(root, "reprieve-watcher", "check-config", f"--config={BASE / 'watcher.toml'}")
    assert "/run/reprieve" in shown
    assert "--handler" in _run(root, "reprieve-watcher", "relay", "--help")


@pytest.mark.e2e
def test_daemon_starts_when_it_is_the_images(root: Path, tmp_path: Path) -> None:
    """With all that it imports only then; it says that it is ready, and ends when it is told to."""
    command = [
        *(str(root / "bin" / "reprieve-watcher"), "run", "--cloud=aws", "--listen=127.0.0.1:0"),
        *("--metadata-endpoint=http://127.0.0.1:9", f"--run-dir={tmp_path}"),
    ]
    environment = {"PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        command, env=environment, cwd="/", stderr=subprocess.PIPE, text=True
    ) as daemon:
        assert daemon.stderr is not None
        said = []
        for line in daemon.stderr:
            said.append(line)
            if "ready listen=" in line:
                daemon.terminate()
    assert (daemon.returncode, said[-1].split()[-1]) == (0, "stopped"), said


@pytest.mark.e2e
def test_image_has_no_heavy_package_when_it_is_looked_through(root: Path) -> None:
    """Neither PyTorch nor an SDK; what the extra is for is there."""
    probe = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    looked_for = (*HEAVY, "aiohttp", "dbus_fast", "watcher")
    assert _run(root, "python", "-c", probe, *looked_for).strip() == str(
        ["aiohttp", "dbus_fast", "watcher"]
    )


@pytest.mark.e2e
def test_image_is_small_when_its_bytes_are_counted(root: Path) -> None:
    """All that is put beside Python's own image."""
    assert size_bytes(root) < OURS_LIMIT_BYTES


@pytest.mark.parametrize("extra", ["logind", "aws", "gcp"])
def test_image_is_pinned_and_without_pytorch_whatever_its_extra_is(extra: str) -> None:
    """What each extra brings is in the constraints; boto3 comes with its own extra alone."""
    needed = closure(extra)
    pins = dict(
        line.replace("_", "-").lower().split("==")
        for line in (ROOT / "requirements" / "dev.txt").read_text().split()
    )
    assert needed.keys() <= pins.keys()
    assert not {"torch", "numpy"} & needed.keys()
    assert ("boto3" in needed) == (extra == "aws")


def test_relay_on_aws_fits_when_its_bytes_are_counted() -> None:
    """boto3 is half of what it takes. Google's library alone is twice as much, and may be large."""
    taken = [path.stat().st_size for dist in closure("aws").values() for path, _ in files_of(dist)]
    assert sum(taken) < OURS_LIMIT_BYTES


def test_context_has_what_is_copied_when_the_image_is_built() -> None:
    """What .dockerignore lets through is what the Containerfile asks for."""
    ignored = (CONTAINERFILE.parent / "Containerfile.dockerignore").read_text().splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == sources()
    assert all((ROOT / name).exists() for name in sources())
