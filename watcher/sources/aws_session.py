"""IMDSv2: GETs that carry a session token, which is minted, renewed and replaced as needed.

Source: EC2 user guide, "Use IMDSv2" and "Retrieve instance metadata" (read 2026-11-30).
"""

import contextlib
import string
from collections.abc import Callable
from dataclasses import dataclass, replace

from watcher.errors import SourceError, SourceMalformed, SourceThrottled, SourceUnavailable
from watcher.httpclient import Answer, HttpClient

TOKEN_PATH = "/latest/api/token"  # noqa: S105 - a path, not a secret
TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN_HEADER = "X-aws-ec2-metadata-token"  # noqa: S105 - a header's name, not a secret

TTL_S = 21_600
"""Longest life of a token, in seconds; a token is reused for as long as it lives."""

_RENEW_BEFORE_S = 60.0
"""Seconds before a token's end at which a new one is minted, at most a tenth of its life."""

_TOKEN_LIMIT_CHARS = 1024
_TOKEN_CHARS = frozenset(string.ascii_letters + string.digits + "+/=-_.~")

_HOP_LIMIT_HINT = (
    "a container behind a bridge gets no token at hop limit 1: use the host's network, or set the "
    "instance's HttpPutResponseHopLimit to 2"
)

_REFUSALS = {401: "unauthorized", 403: "forbidden", 429: "throttled", 503: "throttled"}


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    expires_at: float
    """On the session's clock."""
    renew_before_s: float
    """How long before that it is replaced; fixed when it was minted."""


class ImdsSession:
    """A conversation with IMDS, whose only two answers are 200 and 404.

    Args:
        client: A client for the endpoint's base URL.
        clock: Seconds on a clock that does not jump, such as the loop's.
    """

    def __init__(self, client: HttpClient, clock: Callable[[], float]) -> None:
        self._client = client
        self._clock = clock
        self._token: _Token | None = None

    @property
    def has_token(self) -> bool:
        """Whether a token is at hand that has not expired."""
        return self._token is not None and self._clock() < self._token.expires_at

    async def get(self, path: str) -> Answer:
        """Return IMDS's answer for ``path``: there (200) or not there (404).

        A token that IMDS does not know any more (401) is replaced once; a second 401 is final.

        Raises:
            SourceError: There is no such answer, and it is unknown whether ``path`` is there.
        """
        token = self._token if self._token and self.has_token else await self._mint()
        answer = await self._fetch(path, token)
        if answer.status == 401:
            self._token = None
            answer = await self._fetch(path, await self._mint())
        if answer.status not in (200, 404):
            raise _refusal(answer.status, f"GET {path}")
        return answer

    async def renew(self) -> None:
        """Mint the next token when the present one nears its end; a failure is not yet one.

        The present token stays in use until it has really expired.
        """
        token = self._token
        if token is not None and self._clock() >= token.expires_at - token.renew_before_s:
            with contextlib.suppress(SourceError):
                await self._mint()

    async def _fetch(self, path: str, token: _Token) -> Answer:
        answer = await self._client.call("GET", path, {TOKEN_HEADER: token.text})
        left_s = _ttl_echo(answer)
        if answer.status != 401 and left_s is not None:
            self._token = replace(token, expires_at=self._clock() + left_s)
        return answer

    async def _mint(self) -> _Token:
        try:
            answer = await self._client.call("PUT", TOKEN_PATH, {TTL_HEADER: str(TTL_S)})
        except SourceUnavailable as error:
            if error.outcome != "timeout":
                raise
            raise SourceUnavailable(f"{error}; {_HOP_LIMIT_HINT}", outcome="timeout") from error
        if answer.status != 200:
            raise _refusal(answer.status, f"PUT {TOKEN_PATH}")
        text = answer.body.decode("latin-1").strip()
        if not 0 < len(text) <= _TOKEN_LIMIT_CHARS or not _TOKEN_CHARS.issuperset(text):
            raise SourceMalformed(f"PUT {TOKEN_PATH}: the body is no token: {answer.body[:64]!r}")
        echo = _ttl_echo(answer)
        life_s = TTL_S if echo is None else echo
        expires_at = self._clock() + life_s
        self._token = _Token(text, expires_at, min(_RENEW_BEFORE_S, life_s / 10))
        return self._token


def _ttl_echo(answer: Answer) -> int | None:
    """Return the seconds that IMDS says the token has left, None if it does not say."""
    echo = answer.headers.get(TTL_HEADER, "")
    return int(echo) if echo.isascii() and echo.isdecimal() and int(echo[:6]) <= TTL_S else None


def _refusal(status: int, what: str) -> SourceUnavailable:
    """Return the error for a status that says nothing about whether there is a notice."""
    outcome = _REFUSALS.get(status, "unexpected_status")
    if outcome == "unexpected_status" and status // 100 in (3, 5):
        outcome = "redirect" if status // 100 == 3 else "server_error"
    error = SourceThrottled if outcome == "throttled" else SourceUnavailable
    return error(f"{what}: HTTP {status}", outcome=outcome)
