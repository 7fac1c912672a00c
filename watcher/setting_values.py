"""What the settings' values are read from: texts, paths, URLs, addresses. Pure.

What would fail only when it is used, at the notice, is refused here. A reader's ValueError says
what it had expected.
"""

import ipaddress
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from signal import Signals
from urllib.parse import SplitResult, urlsplit

from watcher.config import Address
from watcher.httpclient import CALL_LIMIT_S

_FILE_NAME_LIMIT_BYTES = 255
_PATH_LIMIT_BYTES = 2048
"""Half of what Linux takes, so that there is room for what is added to it."""
_NAME_LIMIT_CHARS = 253
"""Longest name of a host, and so of a node in Kubernetes. Source: RFC 1123, section 2.1."""
_HOST = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_URL = re.compile(r"[!-~]+")
_PROJECT = r"[a-z0-9.:-]{1,100}"
_SUBSCRIPTION = re.compile(
    rf"projects/{_PROJECT}/subscriptions/[A-Za-z][\w.~+%-]{{2,254}}", re.ASCII
)
_ZONE = r"[a-z0-9-]{1,63}"
_LABEL = r"(?:[a-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_LABEL_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"
# A value may be empty, so spaces have to be taken whole (*+): shared out between what stands before
# and after the value that isn't there, a few dozen commas would take for ever.
_TERM = (
    rf"(?:!?{_LABEL}|{_LABEL} *+(?:=|==|!=) *+{_LABEL_VALUE}"
    rf"|{_LABEL} ++(?:in|notin) ++\( *+{_LABEL_VALUE}(?: *+, *+{_LABEL_VALUE})* *+\))"
)
_SELECTOR = re.compile(rf"{_TERM}(?: *+, *+{_TERM})*")
"""Source: Kubernetes documentation, "Labels and Selectors" (read 2026-11-30)."""
_FLEET = re.compile(rf"{_PROJECT}/{_ZONE}(,{_ZONE}){{0,99}}")


def text(value: object) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("a text")
    return value


def unit(value: object) -> str:
    """Return the name of a systemd unit that processes run in."""
    name = text(value)
    if "/" in name or not name.endswith((".service", ".scope")) or name.startswith("."):
        raise ValueError("a unit's whole name, such as train.service or run-7.scope")
    return name


def arguments(value: object) -> tuple[str, ...]:
    """Return a program and its arguments, from a list or from a text split as a shell would."""
    expected = "a list of texts, or one text that a shell could split, a program first"
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(expected) from error
    if not isinstance(words, list) or not words or not all(isinstance(one, str) for one in words):
        raise ValueError(expected)
    if not words[0] or "\0" in "".join(words):
        raise ValueError(expected)
    return tuple(words)


def node(value: object) -> str:
    """Return a node's name."""
    name = text(value)
    if len(name) > _NAME_LIMIT_CHARS or not name.isprintable():
        raise ValueError(f"a printable name of at most {_NAME_LIMIT_CHARS} characters")
    return name


def one_of(*words: str) -> Callable[[object], str]:
    """Return a reader that takes one of these words."""

    def read(value: object) -> str:
        if value not in words:
            raise ValueError("one of " + ", ".join(words))
        return str(value)

    return read


def truth(value: object) -> bool:
    """Return true or false."""
    words = {"true": True, "false": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value not in words:
        raise ValueError("true or false")
    return words[value]


def _split(value: object) -> SplitResult:
    """Split a URL whose host can be asked for; what can't would fail only at the notice.

    Raises:
        ValueError: It is none; the message is Python's own.
    """
    given = text(value)
    split = urlsplit(given)
    host = split.hostname or ""
    if "[" in split.netloc:
        ipaddress.IPv6Address(host)
    elif not _HOST.fullmatch(host) or len(host) > _NAME_LIMIT_CHARS:
        raise ValueError("no host")
    if not _URL.fullmatch(given) or split.port == 0 or split.username is not None:
        raise ValueError("no plain URL")
    return split


def queue_url(value: object) -> str:
    """Return the URL of an SQS queue."""
    expected = "a URL like https://sqs.REGION.amazonaws.com/ACCOUNT/NAME"
    try:
        split = _split(value)
    except ValueError as error:
        raise ValueError(expected) from error
    if split.scheme not in ("https", "http") or split.path.count("/") < 2:
        raise ValueError(expected)
    return split.geturl()


def path(value: object) -> Path:
    """Return an absolute path."""
    absolute = Path(text(value)).absolute()
    names = [os.fsencode(name) for name in absolute.parts]
    if max(map(len, names)) > _FILE_NAME_LIMIT_BYTES or sum(map(len, names)) > _PATH_LIMIT_BYTES:
        raise ValueError("a path that is not too long for a file system")
    return absolute


def seconds(value: object) -> float:
    """Return seconds, less than a day."""
    number = _number(value)
    if not 0 < number < 86_400:
        raise ValueError("seconds, more than 0 and less than a day")
    return number


def pause(value: object) -> float:
    """Return seconds for which something waits, perhaps not at all."""
    number = _number(value)
    if not 0 <= number < 86_400:
        raise ValueError("seconds, from 0 to less than a day")
    return number


def between(least_s: float, most_s: float) -> Callable[[object], float]:
    """Return a reader that takes seconds within these bounds."""

    def read(value: object) -> float:
        number = _number(value)
        if not least_s <= number <= most_s:
            raise ValueError(f"seconds, from {least_s:.0f} to {most_s:.0f}")
        return number

    return read


def _number(value: object) -> float:
    """Return a number, or -1 for what is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return -1.0
    try:
        return float(value)
    except (ValueError, OverflowError):
        return -1.0


def call_limit(value: object) -> float:
    """Return the seconds that one call may take."""
    number = seconds(value)
    if number > CALL_LIMIT_S:
        raise ValueError(f"seconds, at most {CALL_LIMIT_S}, so that one poll never costs the next")
    return number


def url(value: object) -> str:
    """Return the URL of a metadata service, without a slash at its end."""
    expected = "a URL such as http://169.254.169.254"
    try:
        split = _split(value)
    except ValueError as error:
        raise ValueError(expected) from error
    if split.scheme != "http" or split.query or split.fragment:
        raise ValueError(expected)
    return split.geturl().rstrip("/")


def subscription(value: object) -> str:
    """Return the full name of a Pub/Sub subscription."""
    if not isinstance(value, str) or not _SUBSCRIPTION.fullmatch(value):
        raise ValueError("a name like projects/PROJECT/subscriptions/NAME")
    return value


def gcp_fleet(value: object) -> str:
    """Return a project of Google Cloud's and zones in it."""
    if not isinstance(value, str) or not _FLEET.fullmatch(value):
        raise ValueError("PROJECT/ZONE,ZONE... such as my-proj/europe-west1-b,europe-west1-c")
    return value


def api_url(value: object) -> str:
    """Return the URL of an API, without a slash at its end; no token may go there openly."""
    expected = "a URL such as https://HOST:PORT, or http:// on loopback"
    try:
        split = _split(value)
        is_loopback = split.hostname == "localhost" or (
            split.scheme == "http" and ipaddress.ip_address(split.hostname or "").is_loopback
        )
    except ValueError as error:
        raise ValueError(expected) from error
    is_safe = split.scheme == "https" or (split.scheme == "http" and is_loopback)
    if not is_safe or split.query or split.fragment:
        raise ValueError(expected)
    return split.geturl().rstrip("/")


def label_selector(value: object) -> str:
    """Return a selector of pods by their labels."""
    if not isinstance(value, str) or len(value) > 1024 or not _SELECTOR.fullmatch(value):
        raise ValueError("a selector of labels such as app=web,tier in (a,b),!batch")
    return value


def address(value: object) -> Address:
    """Return an address to listen on."""
    host, _, port = text(value).rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(host)
    except ValueError as error:
        raise ValueError("HOST:PORT with an IP address or localhost") from error
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65_535):
        raise ValueError("HOST:PORT with a port from 0 to 65535")
    return Address(host, int(port))


def signal(value: object) -> Signals:
    """Return a signal by its name."""
    try:
        return Signals[text(value)]
    except KeyError as error:
        raise ValueError("the name of a signal, such as SIGTERM") from error
