"""Reads the settings: defaults < TOML file < environment < command line.

Every layer speaks the same keys: ``faces.listen`` is ``listen`` under ``[faces]`` in the file and
REPRIEVE_FACES_LISTEN in the environment. What is not understood is an error, never ignored.
"""

import difflib
import ipaddress
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from watcher.aws_environment import ambient_settings
from watcher.config import Address, AwsConfig, Config, FacesConfig, RelayConfig, SignalConfig
from watcher.errors import ConfigError
from watcher.httpclient import CALL_LIMIT_S

SWITCH = ("on", "off")
CLOUDS = ("aws",)
LOG_FORMATS = ("text", "json")
LOG_LEVELS = ("debug", "info", "warning", "error")


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def _one_of(*words: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in words:
            raise ValueError("one of " + ", ".join(words))
        return str(value)

    return read


def _truth(value: object) -> bool:
    words = {"true": True, "false": False}
    if isinstance(value, bool):
        return value
    if value not in words:
        raise ValueError("true or false")
    return words[str(value)]


def _queue_url(value: object) -> str:
    url = urlsplit(_text(value))
    if url.scheme not in ("https", "http") or not url.hostname or url.path.count("/") < 2:
        raise ValueError("a URL like https://sqs.REGION.amazonaws.com/ACCOUNT/NAME")
    return url.geturl()


def _path(value: object) -> Path:
    return Path(_text(value)).absolute()


def _seconds(value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, str | int | float) else -1.0
    except ValueError:
        seconds = -1.0
    if isinstance(value, bool) or not 0 < seconds < 86_400:
        raise ValueError("seconds, more than 0 and less than a day")
    return seconds


def _call_limit(value: object) -> float:
    seconds = _seconds(value)
    if seconds > CALL_LIMIT_S:
        raise ValueError(f"seconds, at most {CALL_LIMIT_S}, so that one poll never costs the next")
    return seconds


def _url(value: object) -> str:
    expected = "a URL such as http://169.254.169.254"
    try:
        url = urlsplit(_text(value))
        is_good = url.scheme == "http" and url.hostname and url.port != 0
    except ValueError as error:
        raise ValueError(expected) from error
    if not is_good or url.query or url.fragment or url.username is not None:
        raise ValueError(expected)
    return url.geturl().rstrip("/")


def _address(value: object) -> Address:
    host, _, port = _text(value).rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(host)
    except ValueError as error:
        raise ValueError("HOST:PORT with an IP address or localhost") from error
    if not (port.isascii() and port.isdecimal() and int(port[:6]) <= 65_535):
        raise ValueError("HOST:PORT with a port from 0 to 65535")
    return Address(host, int(port))


def _signal(value: object) -> Signals:
    try:
        return Signals[_text(value)]
    except KeyError as error:
        raise ValueError("the name of a signal, such as SIGTERM") from error


SETTINGS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "cloud": _one_of(*CLOUDS),
        "run_dir": _path,
        "node": _text,
        "log_format": _one_of(*LOG_FORMATS),
        "log_level": _one_of(*LOG_LEVELS),
        "aws.metadata": _one_of(*SWITCH),
        "aws.metadata_endpoint": _url,
        "aws.metadata_limit_s": _call_limit,
        "aws.metadata_v1": _one_of(*SWITCH),
        "aws.queue_url": _queue_url,
        "aws.instance_id": _text,
        "aws.hook_wait_s": _seconds,
        "relay.queue_url": _queue_url,
        "relay.shared_queue": _truth,
        "relay.cluster_tag": _text,
        "relay.handler": _text,
        "faces.listen": _address,
        "faces.blind_limit_s": _seconds,
        "signal.pid_file": _path,
        "signal.name": _signal,
    }
)
"""Every key and what reads its value; a reader's ValueError says what it had expected."""

_SECTIONS = frozenset(key.partition(".")[0] for key in SETTINGS if "." in key)


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings in force, and by key where each that is not a default was set."""

    config: Config
    origins: Mapping[str, str]


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
    found = ambient_settings(environment)
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
    return Effective(_build(values), {key: origin for key, (_, origin) in found.items()})


def variable(key: str) -> str:
    """Return the name of the environment variable for a key."""
    return "REPRIEVE_" + key.replace(".", "_").upper()


def _from_file(file: Path) -> Iterator[tuple[str, object]]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not TOML: {error}") from error
    for key, value in document.items():
        if key in _SECTIONS and isinstance(value, dict):
            yield from ((_known(f"{key}.{name}", file), inner) for name, inner in value.items())
        else:
            yield _known(key, file), value


def _known(key: str, file: Path) -> str:
    if key in SETTINGS:
        return key
    nearest = difflib.get_close_matches(key, SETTINGS, n=1, cutoff=0.0)[0]
    raise ConfigError(f"{file}: unknown key {key}; the nearest known one is {nearest}")


def _read(key: str, value: object, origin: str) -> object:
    try:
        return SETTINGS[key](value)
    except ValueError as error:
        raise ConfigError(f"{origin}: {key} has to be {error}, not {value!r}") from error


def _build(values: Mapping[str, Any]) -> Config:
    def section(prefix: str) -> dict[str, Any]:
        start = prefix + "."
        return {k.removeprefix(start): v for k, v in values.items() if k.startswith(start)}

    return Config(
        **{key: value for key, value in values.items() if "." not in key},
        aws=AwsConfig(**section("aws")),
        relay=RelayConfig(**section("relay")),
        faces=FacesConfig(**section("faces")),
        signal=SignalConfig(**section("signal")),
    )
