"""A disk whose power may go at any call: what it then holds is what was synced, and no more.

It notes what each fsync has made durable, the bytes of a file or the names in a directory, and lays
out what a crash could leave. Three kinds of file system are played, as POSIX allows them all:

- nothing that was not synced is there;
- every name is there, as a journal keeps them, and only the bytes of synced files;
- what was removed is gone, and what was created is there only if it was synced.
"""

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Tree: TypeAlias = dict[str, "Tree | bytes"]

_CALLS: list[tuple[Any, str]] = [
    (os, name)
    for name in ("open", "fsync", "link", "unlink", "rename", "replace", "mkdir", "rmdir")
]


class Disk:
    """A directory whose power may go.

    Args:
        root: An empty directory; it is there for good.
        on_crash: Given every tree that a crash could leave, at the instant when it could.
    """

    def __init__(self, root: Path, on_crash: Callable[[Tree], None]) -> None:
        self._root = root
        self._on_crash = on_crash
        self._own = threading.local()
        self._directories: set[int] = set()
        self._names: dict[int, dict[str, int]] = {}
        self._bytes: dict[int, bytes] = {}
        self._held: list[int] = []
        self._last: list[Tree] = []
        self._noting = threading.RLock()
        self.syncs = 0
        self.crashes = 0
        with self._at_work():
            descriptor = os.open(root, os.O_RDONLY)
            self._note_sync(descriptor)
            os.close(descriptor)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """See every call inside the block, from any thread."""
        with pytest.MonkeyPatch.context() as patch:
            for home, name in _CALLS:
                patch.setattr(home, name, self._seen(getattr(home, name), name))
            yield
        for descriptor in self._held:
            os.close(descriptor)

    def expect_more(self) -> None:
        """Have a tree that was seen before looked at again: more must be in it by now."""
        self._last = []

    def _seen(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def seen(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as os has it
            if self._is_at_work():
                return call(*arguments, **options)
            result = call(*arguments, **options)
            with self._at_work():
                if name == "fsync":
                    self.syncs += 1
                    self._note_sync(int(arguments[0]))
                self._crash()
            return result

        return seen

    def _is_at_work(self) -> bool:
        return getattr(self._own, "depth", 0) > 0

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._noting:
            self._own.depth = getattr(self._own, "depth", 0) + 1
            try:
                yield
            finally:
                self._own.depth -= 1

    def _note_sync(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        # Held open, so that no later file gets its number.
        if stat.S_ISDIR(found.st_mode):
            self._names[found.st_ino] = {
                name: os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_ino
                for name in os.listdir(descriptor)
            }
            self._held.append(os.dup(descriptor))
        elif stat.S_ISREG(found.st_mode):
            self._bytes[found.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()
            self._held.append(os.dup(descriptor))

    def _crash(self) -> None:
        root = self._root.stat().st_ino
        now = self._now(self._root)
        synced = self._synced(root)
        trees = [synced, self._named(self._root), _without_removed(synced, now)]
        for tree in trees:
            if tree not in self._last:
                self.crashes += 1
                self._on_crash(tree)
        self._last = trees

    def _synced(self, inode: int) -> Tree:
        tree: Tree = {}
        for name, child in self._names.get(inode, {}).items():
            is_directory = child in self._names or child in self._directories
            tree[name] = self._synced(child) if is_directory else self._bytes.get(child, b"")
        return tree

    def _named(self, path: Path) -> Tree:
        tree: Tree = {}
        for child in _children(path):
            is_directory = stat.S_ISDIR(child.lstat().st_mode)
            inode = child.lstat().st_ino
            tree[child.name] = self._named(child) if is_directory else self._bytes.get(inode, b"")
        return tree

    def _now(self, path: Path) -> Tree:
        """Return the tree of names as it is, noting which numbers are directories'."""
        tree: Tree = {}
        for child in _children(path):
            if stat.S_ISDIR(child.lstat().st_mode):
                self._directories.add(child.lstat().st_ino)
                tree[child.name] = self._now(child)
            else:
                tree[child.name] = b""
        return tree


def _children(path: Path) -> list[Path]:
    with contextlib.suppress(FileNotFoundError):
        return [child for child in path.iterdir() if os.path.lexists(child)]
    return []


def _without_removed(synced: Tree, now: Tree) -> Tree:
    tree: Tree = {}
    for name, value in synced.items():
        there = now.get(name)
        if there is None:
            continue
        if isinstance(value, dict) and isinstance(there, dict):
            tree[name] = _without_removed(value, there)
        else:
            tree[name] = value
    return tree


def lay_out(tree: Tree, directory: Path) -> Path:
    """Write a tree to an empty directory, as the machine finds it when it is up again."""
    directory.mkdir(parents=True)
    for name, value in tree.items():
        if isinstance(value, dict):
            lay_out(value, directory / name)
        else:
            (directory / name).write_bytes(value)
    return directory
