"""Posts the news of each notice to a URL, such as Slack's; off unless one is set.

The request goes to that URL and nowhere else: no redirect is followed, and a proxy only used where
that was asked for. What is secret comes from files, and is in no message of this module's: the URL
is told by its host, and what a server says is dropped where it repeats a secret.
"""

import asyncio
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from urllib.parse import parse_qsl, urlsplit

import aiohttp

from watcher import setting_values
from watcher.actions.news import News, document
from watcher.actions.secret_file import read_secret
from watcher.actions.side_resolver import SideResolver
from watcher.actions.webhook_bodies import body
from watcher.actions.webhook_config import BY_ENVIRONMENT, WebhookConfig, webhook_url
from watcher.errors import ActionRefused, ActionRetryable, first_line
from watcher.side_thread import SideThread

NAME = "webhook"

SAID_LIMIT_BYTES = 512
"""Longest that a server's words about a failure are passed on; those that are longer are not cut,
but dropped, since half a secret can't be recognised."""

_TELLING_CHARS = 4
"""Shortest part of a path that counts as a secret; those like ``v2`` are in many an answer."""

_PASSING = (408, 425, 429)
"""Statuses below 500 that ask for another try: RFC 9110, 15.5.9; RFC 8470, 5.2; RFC 6585, 4."""


@dataclass(frozen=True, slots=True)
class _Target:
    """Where to, as the files say it at the moment."""

    url: str
    headers: Mapping[str, str]
    key: str
    proxy: str | None

    def has_secret_in(self, text: str) -> bool:
        """Tell whether a text repeats what is not for the log."""
        split = urlsplit(self.url)
        values = (one.partition("=")[2] for one in split.query.split("&"))
        decoded = (value for _, value in parse_qsl(split.query))
        words = chain.from_iterable(value.split() for value in (self.key, *self.headers.values()))
        parts = (part for part in split.path.split("/") if len(part) >= _TELLING_CHARS)
        return any(secret in text for secret in (*values, *decoded, *words, *parts) if secret)


class Webhook:
    """Posts the news; see :class:`aside.Teller`."""

    def __init__(self, config: WebhookConfig, node: str) -> None:
        self._config = config
        self._node = node
        self._files = SideThread[_Target](NAME)
        self._resolver = SideResolver(f"{NAME} DNS")
        self.where = urlsplit(config.url or "").hostname or f"the URL in {config.url_file}"

    async def check(self) -> None:
        """Read the files; see :class:`aside.Teller`."""
        await self._target()

    async def tell(self, news: News, /) -> str:
        """Post it, once, within the limit.

        Raises:
            ActionRetryable: No usable answer, or one that asks for another try; or a file with a
                secret can't be read.
            ActionRefused: The server does not take it.
        """
        limit_s = self._config.limit_s
        try:
            async with asyncio.timeout(limit_s):
                return await self._post(await self._target(), news)
        except TimeoutError as error:
            raise ActionRetryable(f"no answer within {limit_s:g} s") from error

    async def _target(self) -> _Target:
        return await self._files.call(lambda: self._read)

    async def _post(self, target: _Target, news: News) -> str:
        config = self._config
        data = body(config.preset, config.template, document(news, self._node), target.key)
        connector = aiohttp.TCPConnector(resolver=self._resolver, force_close=True)
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity", "User-Agent": "reprieve-watcher"},
            timeout=aiohttp.ClientTimeout(total=None),  # one limit counts, around all of this
            auto_decompress=False,
            trust_env=False,  # it would read passwords from ~/.netrc, too
        )
        headers = {"Content-Type": "application/json", **target.headers}
        try:
            async with (
                session,
                session.post(
                    target.url,
                    data=data,
                    headers=headers,
                    proxy=target.proxy,
                    allow_redirects=False,
                ) as response,
            ):
                return await _verdict(response, target)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ActionRetryable(_why(error)) from error

    def _read(self) -> _Target:
        """Read where to; blocks."""
        config = self._config
        url = config.url or ""
        if config.url_file is not None:
            try:
                url = webhook_url(read_secret(config.url_file))
            except ValueError as error:
                raise ActionRetryable(f"{config.url_file} has to hold {error}") from error
        pairs = (one.partition("=") for one in config.header_files)
        headers = {name: read_secret(setting_values.path(file)) for name, _, file in pairs}
        key = read_secret(config.key_file) if config.key_file else ""
        return _Target(url, headers, key, _proxy(url) if config.proxy == BY_ENVIRONMENT else None)


async def _verdict(response: aiohttp.ClientResponse, target: _Target) -> str:
    """Say what an answer means; of its body only the words about a failure count."""
    status = response.status
    if 200 <= status < 300:
        return f"answered {status}"
    what = f"answered {status}{await _said(response, target)}"
    if 300 <= status < 400:
        raise ActionRefused(f"{what}; redirects are not followed, so set the URL that is meant")
    if status >= 500 or status in _PASSING:
        raise ActionRetryable(what, after_s=_retry_after_s(response.headers.get("Retry-After", "")))
    raise ActionRefused(what)


async def _said(response: aiohttp.ClientResponse, target: _Target) -> str:
    """Return what the server says besides, if it is short, whole, and nothing that was secret."""
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > SAID_LIMIT_BYTES:
            return ""
    text = data.decode(errors="replace")
    return "" if not text or target.has_secret_in(text) else f", saying {first_line(text)}"


def _retry_after_s(value: str) -> float:
    """Return the seconds that a Retry-After header asks for, 0 where it says nothing readable.

    Source: RFC 9110, section 10.2.3.
    """
    if value.isascii() and value.isdecimal() and len(value) < 10:
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a URL; none for what stays on the machine."""
    split = urlsplit(url)
    if split.scheme == "http" or urllib.request.proxy_bypass(split.hostname or ""):
        return None
    return urllib.request.getproxies().get(split.scheme)


def _why(error: Exception) -> str:
    """Say what has gone wrong; an error's own words may hold the URL."""
    name = type(error).__name__
    return f"{name}: {error.strerror}" if isinstance(error, OSError) and error.strerror else name
