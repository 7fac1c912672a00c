"""IMDSv2: GETs that carry a session token, which is minted, renewed and replaced as needed.

Where the token endpoint itself says that there is no IMDSv2, GETs go without one (IMDSv1), once
the server has shown without a token that it is EC2's: a stranger's 404 is no "no notice".

Source: EC2 user guide, "Use IMDSv2" and "Retrieve instance metadata"; botocore's IMDSFetcher for
what counts as "no IMDSv2" (all read 2026-11-30).
"""

import contextlib
import logging
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, replace

from watcher.errors import SourceError, SourceMalformed, SourceThrottled, SourceUnavailable
from watcher.httpclient import Answer, HttpClient
from watcher.sources import aws_diagnosis
from watcher.sources.aws_instance import parse_instance_id

log = logging.getLogger(__name__)

TOKEN_PATH = "/latest/api/token"  # noqa: S105 - a path, not a secret
INSTANCE_ID_PATH = "/latest/meta-data/instance-id"
TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN_HEADER = "X-aws-ec2-metadata-token"  # noqa: S105 - a header's name, not a secret

TTL_S = 21_600
"""Longest life of a token, in seconds; a token is reused for as long as it lives."""

V1_LIFE_S = 300.0
"""Seconds for which IMDSv1 is used before the token endpoint is asked again."""

NO_V2_STATUSES = (403, 404, 405)

_RENEW_BEFORE_S = 60.0
"""Seconds before a token's end at which a new one is minted, at most a tenth of its life."""

# No more digits than the longest life has: int() refuses thousands of them with an error.
_TTL_ECHO = re.compile(r"[0-9]{1,5}")

_TOKEN_LIMIT_CHARS = 1024
_TOKEN_CHARS = frozenset(string.ascii_letters + string.digits + "+/=-_.~")

_REFUSALS = {401: "unauthorized", 403: "forbidden", 429: "throttled", 503: "throttled"}


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    """Empty for IMDSv1, which has none."""
    expires_at: float
    """On the session's clock."""
    renew_before_s: float
    """How long before that it is replaced; fixed when it was minted."""


@dataclass(slots=True)
class TokenBox:
    """The one token that all sessions with a service share."""

    token: _Token | None = None

    def drop(self, refused: _Token) -> None:
        """Forget the token that was refused, unless another session has replaced it already."""
        if self.token is not None and self.token.text == refused.text:
            self.token = None


class ImdsSession:
    """A conversation with IMDS, whose only two answers are 200 and 404.

    Args:
        client: A client for the endpoint's base URL.
        clock: Seconds on a clock that does not jump, such as the loop's.
        tokens: Where the token is kept, also for other sessions with the same service.
        may_use_v1: Whether to go without a token where there is no IMDSv2.
    """

    def __init__(
        self,
        client: HttpClient,
        clock: Callable[[], float],
        tokens: TokenBox,
        *,
        may_use_v1: bool = True,
    ) -> None:
        self._client = client
        self._clock = clock
        self._tokens = tokens
        self._may_use_v1 = may_use_v1

    async def get(self, path: str) -> Answer:
        """Return IMDS's answer for ``path``: there (200) or not there (404).

        A token that IMDS does not know any more (401) is replaced once; a second 401 is final.

        Raises:
            SourceError: There is no such answer, and it is unknown whether ``path`` is there.
        """
        token = self._live_token() or await self._mint()
        answer = await self._fetch(path, token)
        if answer.status == 401:
            self._tokens.drop(token)
            answer = await self._fetch(path, self._live_token() or await self._mint())
        if answer.status not in (200, 404):
            raise refusal(answer.status, f"GET {path}")
        return answer

    async def renew(self) -> None:
        """Mint the next token when the present one nears its end; a failure is not yet one.

        The present token stays in use until it has really expired.
        """
        token = self._tokens.token
        if token is not None and self._clock() >= token.expires_at - token.renew_before_s:
            with contextlib.suppress(SourceError):
                await self._mint()

    def _live_token(self) -> _Token | None:
        token = self._tokens.token
        return token if token is not None and self._clock() < token.expires_at else None

    async def _fetch(self, path: str, token: _Token) -> Answer:
        headers = {TOKEN_HEADER: token.text} if token.text else {}
        answer = await self._call("GET", path, headers)
        left_s = _ttl_echo(answer)
        current = self._tokens.token
        is_current = current is not None and current.text == token.text
        if answer.status != 401 and left_s is not None and token.text and is_current:
            self._tokens.token = replace(token, expires_at=self._clock() + left_s)
        return answer

    async def _mint(self) -> _Token:
        answer = await self._call("PUT", TOKEN_PATH, {TTL_HEADER: str(TTL_S)})
        if answer.status in NO_V2_STATUSES:
            return await self._go_without_token(answer.status)
        if answer.status != 200:
            raise refusal(answer.status, f"PUT {TOKEN_PATH}")
        text, life_s = parse_token(answer)
        return self._keep(text, life_s)

    async def _go_without_token(self, token_status: int) -> _Token:
        if not self._may_use_v1:
            why = aws_diagnosis.SWITCHED_OFF if token_status == 403 else aws_diagnosis.V1_FORBIDDEN
            raise refusal(token_status, f"PUT {TOKEN_PATH}", why)
        answer = await self._call("GET", INSTANCE_ID_PATH, {})
        if answer.status != 200 or parse_instance_id(answer.body) is None:
            why = aws_diagnosis.why_no_token(token_status, answer.status)
            raise refusal(token_status, f"PUT {TOKEN_PATH}", why)
        if self._tokens.token is None:
            log.warning("no IMDSv2, IMDSv1 is used: PUT %s: HTTP %s", TOKEN_PATH, token_status)
        return self._keep("", V1_LIFE_S)

    def _keep(self, text: str, life_s: float) -> _Token:
        expires_at = self._clock() + life_s
        self._tokens.token = _Token(text, expires_at, min(_RENEW_BEFORE_S, life_s / 10))
        return self._tokens.token

    async def _call(self, method: str, path: str, headers: dict[str, str]) -> Answer:
        """Call, and say what the usual cause is where nothing came back.

        A token that never comes while its server is there is the one failure that looks like none.
        """
        try:
            return await self._client.call(method, path, headers)
        except SourceUnavailable as error:
            causes = {"unreachable": aws_diagnosis.UNREACHABLE}
            if path == TOKEN_PATH:
                causes["timeout"] = aws_diagnosis.HOP_LIMIT
            if error.outcome not in causes:
                raise
            why = f"{error}; {causes[error.outcome]}"
            raise SourceUnavailable(why, outcome=error.outcome) from error


def parse_token(answer: Answer) -> tuple[str, int]:
    """Return the token in a 200 answer to the PUT for one, and how many seconds it lives.

    Raises:
        SourceMalformed: There is none, or its life is not told: it is not EC2's answer.
    """
    text = answer.body.decode("latin-1").strip()
    if not 0 < len(text) <= _TOKEN_LIMIT_CHARS or not _TOKEN_CHARS.issuperset(text):
        raise SourceMalformed(f"PUT {TOKEN_PATH}: the body is no token: {answer.body[:64]!r}")
    life_s = _ttl_echo(answer)
    if life_s is None:
        # A stranger that takes any PUT would answer every key with a 404: "no notice".
        why = f"the answer does not say how long the token lives; {aws_diagnosis.NOT_EC2}"
        raise SourceMalformed(f"PUT {TOKEN_PATH}: {why}")
    return text, life_s


def _ttl_echo(answer: Answer) -> int | None:
    """Return the seconds that IMDS says the token has left, None if it does not say."""
    echo = answer.headers.get(TTL_HEADER, "")
    return int(echo) if _TTL_ECHO.fullmatch(echo) and 1 <= int(echo) <= TTL_S else None


def refusal(status: int, what: str, why: str = "") -> SourceUnavailable:
    """Return the error for a status that says nothing about whether there is a notice."""
    outcome = _REFUSALS.get(status, "unexpected_status")
    if outcome == "unexpected_status" and status // 100 in (3, 5):
        outcome = "redirect" if status // 100 == 3 else "server_error"
    if outcome == "forbidden":
        why = why or aws_diagnosis.SWITCHED_OFF
    error = SourceThrottled if outcome == "throttled" else SourceUnavailable
    return error(f"{what}: HTTP {status}" + (f"; {why}" if why else ""), outcome=outcome)
