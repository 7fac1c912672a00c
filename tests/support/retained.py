"""What retention has left of the saves of a directory."""

from pathlib import Path

from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.layout import SaveName, saves
from trainer_hooks.checkpoint.retention import retain


def keep_last(root: Path, last: int) -> list[int]:
    """Delete all but the last, and return the steps that are left, highest first."""
    retain(root, Keep(last=last), lambda: True)
    return steps(root)


def steps(root: Path) -> list[int]:
    """Return the steps of the directories that are there, highest first."""
    return [name.step for name in saves(root)]


def name_of(directory: Path) -> SaveName:
    """Return the name of a save."""
    name = SaveName.parse(directory.name)
    assert name is not None
    return name
