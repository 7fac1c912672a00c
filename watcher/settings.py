"""Reads the settings: defaults < TOML file < environment < command line.

Every layer speaks the same keys: ``faces.listen`` is ``listen`` under ``[faces]`` in the file and
REPRIEVE_FACES_LISTEN in the environment. What is not understood is an error, never ignored.
"""

import difflib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from watcher import policy_overrides, setting_values
from watcher.actions.tellers import SECTIONS, ActionSection
from watcher.cloud import AUTO, NONE
from watcher.config import Config, DrainConfig, FacesConfig, RelayConfig, SignalConfig
from watcher.errors import ConfigError
from watcher.notice import NoticeKind
from watcher.policy import Policy
from watcher.sources import CLOUDS, ROADS
from watcher.sources.road import Road

LOG_FORMATS = ("text", "json")
LOG_LEVELS = ("debug", "info", "warning", "error")

_FOR_TRAINERS = (
    "REPRIEVE_RESULT_DIR",
    "REPRIEVE_LAUNCHER",
    "REPRIEVE_POD_UID",
    "REPRIEVE_NOTICE_URL",
    "REPRIEVE_IN_DRILL",
)
_UNREADABLE = (ValueError, TypeError, ArithmeticError, RecursionError)
"""What reading a file or a value raises where it makes no sense."""

_FILE_LIMIT_BYTES = 16 * 1024
"""Twice what every setting takes."""

_DOT_LIMIT = 256
"""Most dots in a line: a key is one line, and costs the square of its dots to read, times the keys
below it. 16 KiB of them took seconds, and a name of a host has 126."""

_OWNERS: Mapping[str, Road[Any] | ActionSection] = MappingProxyType({**ROADS, **SECTIONS})
"""Who defines a section of settings beside its own code."""

SETTINGS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "cloud": setting_values.one_of(AUTO, NONE, *CLOUDS),
        "run_dir": setting_values.path,
        "node": setting_values.node,
        "dry_run": setting_values.truth,
        "log_format": setting_values.one_of(*LOG_FORMATS),
        "log_level": setting_values.one_of(*LOG_LEVELS),
        "relay.queue_url": setting_values.queue_url,
        "relay.shared_queue": setting_values.truth,
        "relay.cluster_tag": setting_values.text,
        "relay.subscription": setting_values.subscription,
        "relay.gcp_fleet": setting_values.gcp_fleet,
        "relay.handler": setting_values.text,
        "relay.hook_wait_s": setting_values.between(30, 7200),
        "faces.listen": setting_values.address,
        "faces.notice_listen": setting_values.address,
        "faces.blind_limit_s": setting_values.seconds,
        "drain.scope": setting_values.one_of("all", "trainers", "off"),
        "drain.selector": setting_values.label_selector,
        "drain.after_s": setting_values.pause,
        "drain.grace_s": setting_values.seconds,
        "signal.pid_file": setting_values.path,
        "signal.cgroup": setting_values.path,
        "signal.unit": setting_values.unit,
        "signal.name": setting_values.signal,
        **{
            f"{name}.{field}": reader
            for name, owner in _OWNERS.items()
            for field, reader in owner.readers.items()
        },
        **policy_overrides.READERS,
    }
)
"""Every key and what reads its value; a reader's ValueError says what it had expected."""

_SECRET = frozenset({"webhook.url"})
"""What is not repeated in a message: the URLs of Slack and Teams are passwords."""

_SECTIONS = frozenset(key[:end] for key in SETTINGS for end in range(len(key)) if key[end] == ".")


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings in force, and by key where each that is not a default was set."""

    config: Config
    origins: Mapping[str, str]

    def value(self, key: str) -> object:
        """Return the setting of this key."""
        section, _, name = key.rpartition(".")
        if not section:
            return getattr(self.config, name)
        if section.startswith("policy."):
            return getattr(self.config.policy[NoticeKind(section.removeprefix("policy."))], name)
        if section in _OWNERS:
            return getattr(self.config.of(_OWNERS[section].settings), name)
        return getattr(getattr(self.config, section), name)


def load(
    file: Path | None, environment: Mapping[str, str], arguments: Mapping[str, str | None]
) -> Effective:
    """Return the settings in force.

    Args:
        file: A TOML file, or None for none.
        environment: The process's variables; empty ones count as unset.
        arguments: Values by key from the command line; None where an option was not given.

    Raises:
        ConfigError: A key is unknown or a value can't be used; names where it was set.
    """
    found = {
        f"{name}.{field}": value
        for name, road in ROADS.items()
        for field, value in road.ambient(environment).items()
    }
    if file is not None:
        found |= {key: (value, str(file)) for key, value in _from_file(file)}
    for key in SETTINGS:
        name = variable(key)
        if environment.get(name):
            found[key] = (environment[name], f"environment {name}")
    for key, value in arguments.items():
        if value is not None:
            found[key] = (value, "command line")
    values = {key: _read(key, value, origin) for key, (value, origin) in found.items()}
    origins = {key: origin for key, (_, origin) in found.items()}
    policy = policy_overrides.policy_of(values, origins)
    return Effective(_build(values, policy), origins)


def variable(key: str) -> str:
    """Return the name of the environment variable for a key."""
    return "REPRIEVE_" + key.replace(".", "_").upper()


def strangers(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each REPRIEVE_ variable that sets nothing.

    It is no error: Kubernetes makes such variables for every service of that name.
    """
    known = {variable(key) for key in SETTINGS}
    ours = (name for name in environment if name.startswith("REPRIEVE_"))
    return [
        f"environment {name:.80} sets nothing; the nearest setting is {_nearest(name, known)}"
        for name in sorted(ours)
        if name not in known and name not in _FOR_TRAINERS
    ]


def _nearest(word: str, known: Iterable[str]) -> str:
    return difflib.get_close_matches(word[:80], sorted(known), n=1, cutoff=0.0)[0]


def _from_file(file: Path) -> Iterator[tuple[str, object]]:
    try:
        with file.open("rb") as opened:
            data = opened.read(_FILE_LIMIT_BYTES + 1)
        if len(data) > _FILE_LIMIT_BYTES:
            raise ConfigError(f"{file}: longer than {_FILE_LIMIT_BYTES} bytes")
        if any(line.count(b".") > _DOT_LIMIT for line in data.split(b"\n")):
            raise ConfigError(f"{file}: a line with more than {_DOT_LIMIT} dots")
        document = tomllib.loads(data.decode())
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except _UNREADABLE as error:
        raise ConfigError(f"{file} is not TOML: {error}") from error
    yield from ((_known(key, file), value) for key, value in _flat(document))


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield every setting by its whole key; no deeper than keys are."""
    for name, value in table.items():
        key = prefix + name
        if key in _SECTIONS and isinstance(value, dict):
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _known(key: str, file: Path) -> str:
    if key in SETTINGS:
        return key
    raise ConfigError(
        f"{file}: unknown key {key:.80}; the nearest known one is {_nearest(key, SETTINGS)}"
    )


def _read(key: str, value: object, origin: str) -> object:
    try:
        return SETTINGS[key](value)
    except (OSError, *_UNREADABLE) as error:
        instead = "" if key in _SECRET else f", not {_shown(value)}"
        raise ConfigError(f"{origin}: {key} has to be {error}{instead}") from error


def _shown(value: object) -> str:
    try:
        return f"{value!r:.200}"
    except _UNREADABLE:  # an endless number, or lists within lists
        return f"this {type(value).__name__}"


def _build(values: Mapping[str, Any], policy: Policy) -> Config:
    def section(prefix: str) -> dict[str, Any]:
        start = prefix + "."
        return {k.removeprefix(start): v for k, v in values.items() if k.startswith(start)}

    return Config(
        **{key: value for key, value in values.items() if "." not in key},
        relay=RelayConfig(**section("relay")),
        faces=FacesConfig(**section("faces")),
        signal=SignalConfig(**section("signal")),
        drain=DrainConfig(**section("drain")),
        policy=policy,
        sections=tuple(
            owner.settings(**found) for name, owner in _OWNERS.items() if (found := section(name))
        ),
    )
