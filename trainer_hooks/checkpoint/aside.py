"""What is left of small files that were written aside when their writer was killed.

``durable`` gives a file its name when it is whole, within milliseconds. What has none a day later
has no writer any more; and if it had, that one's rename would fail, and it would say so.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

from trainer_hooks.checkpoint.layout import ATTEMPTS, LATEST, SaveName
from trainer_hooks.checkpoint.marks import Mark
from trainer_hooks.checkpoint.place import Place

DEAD_AFTER_S = 24 * 3600.0

_ASIDE = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}\.tmp", re.ASCII)


def sweep_aside(root: Place) -> None:
    """Remove them from a checkpoint directory: beside marks, attempts and LATEST.

    Those in a save's own directory go with it. What cannot be removed stays, at no cost.
    """
    if not isinstance(root, Path):
        return  # an object is whole or absent
    for path in _left_in(root):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > DEAD_AFTER_S:
                path.unlink()


def _left_in(root: Path) -> Iterator[Path]:
    for folder in (root, root / ATTEMPTS, *(root / mark for mark in Mark)):
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                match = _ASIDE.fullmatch(path.name)
                if match is not None and _is_ours(match["name"], folder, root):
                    yield path


def _is_ours(name: str, folder: Path, root: Path) -> bool:
    """Tell whether a file of that name would be one of ours there."""
    if folder == root:
        return name == LATEST
    return name.isdecimal() if folder.name == ATTEMPTS else SaveName.parse(name) is not None
