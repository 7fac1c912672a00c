"""Scenario files: TOML, or JSON where the name ends in .json. docs/simulator.md describes them."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from watcher.simulator.changes import Change
from watcher.simulator.options import MAX_HOPS, MetadataOptions
from watcher.simulator.scenario import DEFAULT_INSTANCE_ID, MAX_TOKEN_TTL_S, Scenario
from watcher.simulator.values import (
    ScenarioError,
    entries,
    refuse_unknown,
    seconds,
    signed_seconds,
    table,
    text,
    whole,
)
from watcher.simulator.vocabulary import OPTION_FIELDS, change_of, options_modified

FILE_KEYS = ("instance", "changes")
INSTANCE_KEYS = (
    *("id", "life_cycle", "token_ttl_cap_s"),
    *OPTION_FIELDS,
    *("hops", "cloud_ahead_s", "no_termination_time"),
)


def load_scenario(path: Path) -> Scenario:
    """Return the scenario that the file describes.

    Raises:
        ScenarioError: It can't be read, or it makes no sense; names file and entry.
    """
    try:
        document = _document(path)
        refuse_unknown("key", document, FILE_KEYS)
        written = entries("changes", document.get("changes", []))
        changes = tuple(_change(number, entry) for number, entry in enumerate(written, 1))
        return _scenario(table("instance", document.get("instance", {})), changes)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from error


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


def _change(number: int, entry: object) -> Change:
    try:
        return _read_change(dict(table("it", entry)))
    except ScenarioError as error:
        name = entry.get("change") if isinstance(entry, dict) else None
        named = f" ({name})" if isinstance(name, str) else ""
        raise ScenarioError(f"change {number}{named}: {error}") from error


def _read_change(fields: dict[str, object]) -> Change:
    name = fields.pop("change", None)
    if not isinstance(name, str):
        raise ScenarioError(f'change must say what happens, such as "notice", not {name!r}')
    if "at_s" not in fields:
        raise ScenarioError("at_s is missing: the seconds after the start at which it happens")
    return change_of(name, fields, seconds("at_s", fields.pop("at_s")))


def _scenario(instance: Mapping[str, object], changes: tuple[Change, ...]) -> Scenario:
    refuse_unknown("key of instance", instance, INSTANCE_KEYS)
    cap_s = instance.get("token_ttl_cap_s", MAX_TOKEN_TTL_S)
    absent = instance.get("no_termination_time")
    return Scenario(
        changes=changes,
        instance_id=text("id", instance.get("id", DEFAULT_INSTANCE_ID)),
        life_cycle=text("life_cycle", instance.get("life_cycle", "spot")),
        token_ttl_cap_s=whole("token_ttl_cap_s", cap_s, 1, MAX_TOKEN_TTL_S),
        options=options_modified(0, instance).applied_to(MetadataOptions()),
        hops=whole("hops", instance.get("hops", 1), 1, MAX_HOPS),
        cloud_ahead_s=signed_seconds("cloud_ahead_s", instance.get("cloud_ahead_s", 0)),
        no_termination_time=None if absent is None else text("no_termination_time", absent),
    )
