"""Asks the node's watcher over HTTP what is in force, where its flag file can't be seen.

A pod that may mount no directory of its host's has ``REPRIEVE_NOTICE_URL`` instead. What comes back
is trusted as little as a file: bounded in time and size, and read by the flag's own parser.
Whatever is not a watcher's answer is *unknown*: it neither makes a notice nor takes one back.
"""

import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import Any, cast
from urllib.parse import urlsplit

from trainer_hooks.clock import boottime_s
from trainer_hooks.errors import ConfigError, NoticeUnknownError, UntrustedFileError
from trainer_hooks.flag import MAX_FLAG_BYTES, StopNotice, read_told
from trainer_hooks.untrusted import Json, parse_json_object

VARIABLE = "REPRIEVE_NOTICE_URL"
PATH = "/v1/notice"

CONNECT_S = 3.0
"""Longest for a connection within the node, in seconds; a lost SYN costs one of them."""

SLACK_S = 5.0
"""How much longer than it was asked to wait a server may take, in seconds."""

MAX_ANSWER_BYTES = MAX_FLAG_BYTES + 16 * 1024
"""The flag, what is around it, and the headers."""

MAX_SEQ = 10**18
"""Beyond what any watcher counts; what it would not take as a question."""

_PLAIN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class NoticeUrl:
    """Where a watcher says what is in force."""

    host: str
    port: int
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.path}"


@dataclass(frozen=True, slots=True)
class Told:
    """What a watcher has said: which notice is in force, or that none is."""

    seq: int | None
    """What to ask beyond; None where it gave no number."""
    flag: dict[str, Json] | None
    """The flag, to be judged by the clocks of the moment; None while no notice is in force."""
    where: str

    def notice(self) -> StopNotice | None:
        """Return the notice as it stands now.

        Raises:
            FlagError: It cannot be understood. Take it for ``UNREADABLE``.
        """
        return None if self.flag is None else read_told(self.flag, self.where)


def notice_url() -> NoticeUrl | None:
    """Return whom to ask, by ``REPRIEVE_NOTICE_URL``; None where that is not set.

    Raises:
        ConfigError: It is no URL that can be asked.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    try:
        return _parsed(text)
    except ValueError as error:
        raise ConfigError(
            f"{VARIABLE} has to be like http://10.0.0.1:9766, an IPv6 address in brackets, "
            f"not {text[:200]!r}"
        ) from error


def _parsed(text: str) -> NoticeUrl:
    split = urlsplit(text)
    has_more = split.username is not None or split.query or split.fragment
    if split.scheme != "http" or has_more or not _PLAIN.fullmatch(text):
        raise ValueError("more than http, a host, a port and a path")
    port = 80 if split.port is None else split.port
    if not split.hostname or not port:
        raise ValueError("no host, or no port")
    return NoticeUrl(split.hostname, port, PATH if split.path in ("", "/") else split.path)


def ask(
    url: NoticeUrl,
    after: int | None,
    wait_s: float,
    on_connected: Callable[[socket.socket], None] = lambda _: None,
) -> Told:
    """Ask a watcher what is in force; blocks for ``wait_s`` and a few seconds at the most.

    Args:
        url: Whom to ask. No proxy is asked, and no redirect followed.
        after: The ``seq`` of what is known already: the answer may wait for another one.
        wait_s: How long it may wait, in seconds.
        on_connected: Gets the connection, so that another thread can shut it down.

    Raises:
        NoticeUnknownError: There is no answer, or not a watcher's.
    """
    known = "" if after is None else f"&after={after}"
    target = f"{url.path}?wait={wait_s:g}{known}"
    try:
        with socket.create_connection((url.host, url.port), timeout=CONNECT_S) as line:
            on_connected(line)
            line.sendall(_request(target, line.getpeername()))
            raw = _received(line, boottime_s() + wait_s + SLACK_S)
    except (OSError, ValueError) as error:
        raise NoticeUnknownError(f"{url}: {error}") from error
    return _told(_body(raw, url), url)


def _request(target: str, peer: tuple[Any, ...]) -> bytes:
    # The watcher answers under addresses only: a name could be a web page's that was rebound.
    host = f"[{peer[0]}]" if ":" in peer[0] else peer[0]
    head = f"GET {target} HTTP/1.1\r\nHost: {host}:{peer[1]}\r\n"
    return f"{head}Accept: application/json\r\nConnection: close\r\n\r\n".encode("ascii")


def _received(line: socket.socket, until_s: float) -> bytes:
    """Return all that comes until the other side closes; raises OSError or ValueError."""
    raw = bytearray()
    while True:
        left_s = until_s - boottime_s()
        if left_s <= 0:  # however many bytes have trickled in
            raise TimeoutError("no whole answer in time")
        line.settimeout(left_s)
        if not (chunk := line.recv(65_536)):
            return bytes(raw)
        raw += chunk
        if len(raw) > MAX_ANSWER_BYTES:
            raise ValueError(f"answers with more than {MAX_ANSWER_BYTES} bytes")


def _body(raw: bytes, url: NoticeUrl) -> bytes:
    response = HTTPResponse(cast("socket.socket", _Received(raw)))
    try:
        response.begin()
        body = response.read()
    except (HTTPException, ValueError, OverflowError) as error:
        raise NoticeUnknownError(f"{url}: no whole HTTP answer: {error!r:.100}") from error
    if response.status != 200:
        said = body[:100].decode("ascii", "replace").strip()
        raise NoticeUnknownError(f"{url}: HTTP {response.status}: {said!a}")
    return body


class _Received:
    """Bytes in the place of the connection that they came from."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self._raw)


def _told(body: bytes, url: NoticeUrl) -> Told:
    try:
        data = parse_json_object(body, url)
    except UntrustedFileError as error:
        raise NoticeUnknownError(str(error)) from error
    flag, seq = data.get("notice"), data.get("seq")
    is_clear = "notice" in data and flag is None and data.get("schema") == 1
    # Of a later schema we don't know what "nothing" is; a notice is one in any.
    if not is_clear and not isinstance(flag, dict):
        raise NoticeUnknownError(f"{url}: this is no answer of a watcher's: {body[:60]!r}")
    if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < MAX_SEQ:
        seq = None
    return Told(seq, flag if isinstance(flag, dict) else None, str(url))
