"""What an import loads, and what it must not: seconds of torch, or the daemon's clients."""

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import trainer_hooks

LIGHT = [
    "trainer_hooks",
    "trainer_hooks.cli",
    "trainer_hooks.flag",
    "trainer_hooks.decision",
    "trainer_hooks.results",
    "trainer_hooks.waste.plan_command",
    "trainer_hooks.launch.exit_codes",
    "trainer_hooks.checkpoint.commit",
    "trainer_hooks.checkpoint.latest",
    "trainer_hooks.checkpoint.manifest",
    "trainer_hooks.checkpoint.retention",
    "trainer_hooks.commands.checkpoints",
    "trainer_hooks.commands.linting",
    "trainer_hooks.commands.manifests",
]
"""Used where torch is too slow to load, or not installed: ``--help``, tools, the daemon's tests."""

FOUND = [module.name for module in pkgutil.walk_packages(trainer_hooks.__path__, "trainer_hooks.")]
ALL = [name for name in FOUND if not name.startswith("trainer_hooks.integrations.")]
"""But for what only those import who have a framework, which brings what it likes."""


def loaded(modules: list[str]) -> set[str]:
    """Return the packages that are loaded after an import in a process of its own."""
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.ranks
def test_torch_is_not_loaded_when_the_light_modules_are_imported() -> None:
    """Nor numpy: neither is needed to judge a checkpoint or a flag."""
    assert loaded(LIGHT) & {"torch", "numpy", "inotify_simple"} == set()


@pytest.mark.ranks
def test_daemons_clients_are_not_loaded_when_everything_is_imported() -> None:
    """No third package brings them in either."""
    packages = loaded(ALL)
    assert "torch" in packages
    assert packages & {"aiohttp", "boto3", "botocore", "prometheus_client", "watcher"} == set()


@pytest.mark.parametrize("name", trainer_hooks.__all__)
def test_public_name_is_its_modules_when_it_is_asked_for(name: str) -> None:
    """Loaded at the first use, under the name that it has at home."""
    assert getattr(trainer_hooks, name) is getattr(import_module(trainer_hooks._HOMES[name]), name)


def test_name_is_refused_when_it_is_not_public() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="no attribute Trainerhooks"):
        _ = trainer_hooks.Trainerhooks
