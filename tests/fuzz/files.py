"""Fuzzed too: every file of ours that somebody else may have written, and what people pass in.

The bytes go to a file in a directory of the process, as the readers open it themselves. Where a
digest would keep nonsense out, a second try has the right one, so that what is behind it is met.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from trainer_hooks.checkpoint.layout import MARKER, SaveName, manifest_file
from trainer_hooks.checkpoint.manifest import read_manifests, sealed
from trainer_hooks.checkpoint.marker import read_marker
from trainer_hooks.errors import CheckpointError, FlagError
from trainer_hooks.flag import read_flag
from watcher.actions import flag_v1, state_file
from watcher.actions.node_state import parse as parse_node_state
from watcher.drill.history import told
from watcher.errors import ConfigError, FlagUnreadable
from watcher.settings import load
from watcher.sources.kubernetes_drill import parse_drill
from watcher.trainers import DIRECTORY, read_trainers

NOW = datetime(2026, 11, 30, 10, 5, 8, tzinfo=UTC)
BOOT_ID = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"
SAVE = "step_000000300.a17-5f3c"


@cache
def _directory() -> Path:
    return Path(mkdtemp(prefix="reprieve-fuzz-"))


def _file(name: str, data: bytes) -> Path:
    path = _directory() / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def _flag(data: bytes) -> None:
    with suppress(FlagError):
        read_flag(_file("notice.json", data))
    with suppress(FlagUnreadable):
        flag_v1.parse(data, BOOT_ID)


def _state(data: bytes) -> None:
    with suppress(FlagUnreadable):
        state_file.parse(data, BOOT_ID)


def _trainer(data: bytes) -> None:
    run_dir = _file(f"{DIRECTORY}/a.json", data).parent.parent
    assert not read_trainers(run_dir, BOOT_ID).unknown


def _settings(data: bytes) -> None:
    with suppress(ConfigError):
        load(_file("watcher.toml", data), {}, {})


def _both(data: bytes) -> Iterable[bytes]:
    """Yield the bytes, and the object in them with a digest that is right."""
    yield data
    with suppress(ValueError, RecursionError):
        found = json.loads(data)
        if isinstance(found, dict):
            yield sealed({key: value for key, value in found.items() if key != "digest"})


def _marker(data: bytes) -> None:
    assert SaveName.parse(SAVE) is not None
    for one in _both(data):
        with suppress(CheckpointError):
            read_marker(_file(f"{SAVE}/{MARKER}", one).parent)


def _manifest(data: bytes) -> None:
    (_directory() / SAVE / "manifest").mkdir(parents=True, exist_ok=True)
    for one in _both(data):
        (_directory() / SAVE / manifest_file(0)).write_bytes(one)
        with suppress(CheckpointError):
            read_manifests(_directory() / SAVE, 1)


def _words(data: bytes) -> None:
    """Read what people and controllers write on a Node, and what comes through a pipe."""
    text = data.decode(errors="replace")
    with suppress(ValueError):
        parse_drill(text, NOW)
    with suppress(ConfigError):
        told(text)
    parse_node_state(text)


FILES: Mapping[str, Callable[[bytes], None]] = {
    "file-flag": _flag,
    "file-manifest": _manifest,
    "file-marker": _marker,
    "file-settings": _settings,
    "file-state": _state,
    "file-trainer": _trainer,
    "words": _words,
}
"""By name. None may raise anything."""

SEEDS: Mapping[str, bytes] = {
    "marker": sealed(
        {
            "schema": 1,
            "step": 300,
            "attempt": "a17-5f3c",
            "world_size": 2,
            "save_every_steps": 100,
            "created": "2026-11-30T10:05:08Z",
            "took_s": 1.5,
            "files": [{"name": "x", "size": 1, "digest": "0" * 32}],
        }
    ),
    "manifest": sealed(
        {"schema": 1, "rank": 0, "files": [{"name": "x", "size": 1, "digest": "0" * 32}]}
    ),
    "settings": b'cloud = "aws"\n[drain]\ngrace_s = 30\n[policy.hardware]\nwindow_s = 60\n',
    "selector": b'drain.selector = "app=web,tier in (a, b),!batch"\n',
    "drill": b"2026-11-30T10:05:00Z/120",
    "template": b'{"text": "{text}", "all": ["{detail}", {"{id}": "{kind} of {node}"}]}',
}
"""What fuzzing begins with, beside the golden files in tests/contract."""
