"""Scenario files: TOML, or JSON where the name ends in .json. docs/simulator.md describes them."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from watcher.simulator.changes import Change
from watcher.simulator.clouds import SIMULATORS
from watcher.simulator.scenario import Scenario
from watcher.simulator.values import ScenarioError, entries, refuse_unknown, seconds, table
from watcher.simulator.vocabulary import Words, change_of

FILE_KEYS = ("cloud", "instance", "changes")

DEFAULT_CLOUD = "aws"
"""Whose scenario a file is that says nothing: there was one cloud when the first were written."""


def load_scenario(
    path: Path, cloud: str | None = None, instance: Mapping[str, object] | None = None
) -> Scenario:
    """Return the scenario that the file describes.

    Args:
        path: The file.
        cloud: Whose scenario it has to be; without it, whose it says it is.
        instance: What wins over the file's own `instance`, key by key.

    Raises:
        ScenarioError: It can't be read, or it makes no sense; names file and entry.
    """
    try:
        return _scenario(_document(path), cloud, instance or {})
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from error


def _scenario(
    document: Mapping[str, object], wanted: str | None, winning: Mapping[str, object]
) -> Scenario:
    refuse_unknown("key", document, FILE_KEYS)
    cloud = str(document.get("cloud", DEFAULT_CLOUD))
    refuse_unknown("cloud", [cloud], SIMULATORS)
    if wanted not in (None, cloud):
        raise ScenarioError(f'it is for cloud = "{cloud}", and {wanted} is to be played')
    simulated = SIMULATORS[cloud]
    written = entries("changes", document.get("changes", []))
    changes = tuple(
        _change(simulated.words, number, entry) for number, entry in enumerate(written, 1)
    )
    instance = table("instance", document.get("instance", {}))
    return simulated.scenario({**instance, **winning}, changes)


def _document(path: Path) -> Mapping[str, object]:
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"not UTF-8: {error.reason} at byte {error.start}") from error
    is_json = path.suffix == ".json"
    try:
        return table("the file", json.loads(content) if is_json else tomllib.loads(content))
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(f"not {'JSON' if is_json else 'TOML'}: {error}") from error


def _change(words: Words, number: int, entry: object) -> Change:
    try:
        return _read_change(words, dict(table("it", entry)))
    except ScenarioError as error:
        name = entry.get("change") if isinstance(entry, dict) else None
        named = f" ({name})" if isinstance(name, str) else ""
        raise ScenarioError(f"change {number}{named}: {error}") from error


def _read_change(words: Words, fields: dict[str, object]) -> Change:
    name = fields.pop("change", None)
    if not isinstance(name, str):
        raise ScenarioError(f'change must say what happens, such as "notice", not {name!r}')
    if "at_s" not in fields:
        raise ScenarioError("at_s is missing: the seconds after the start at which it happens")
    return change_of(words, name, fields, seconds("at_s", fields.pop("at_s")))
