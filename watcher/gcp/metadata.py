"""What calls of Google's APIs need from the metadata server: who this VM is, and its token.

In Kubernetes with Workload Identity the same paths are answered by GKE's own metadata server, and
the token is the service account's that the pod is bound to.

Source: Compute Engine documentation, "About VM metadata", "Authenticate workloads to Google Cloud
APIs using service accounts" (both read 2026-11-30).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher.errors import GcpCallFailed, SourceError
from watcher.httpclient import Answer, HttpClient
from watcher.notice import Moment

FLAVOR = {"Metadata-Flavor": "Google"}
"""Has to be in each question, and is in each answer: the server's only proof of itself."""

ROOT = "/computeMetadata/v1/"

ID = "instance/id"
NAME = "instance/name"
ZONE = "instance/zone"
_PROJECT = "project/project-id"
_TOKEN = "instance/service-accounts/default/token"  # noqa: S105 - a path, not a secret
_RENEW_S = 60.0
"""Seconds before its end at which a token is not used any more. Google's libraries renew minutes
before; one that ends sooner than this costs a refused call, which then asks for another."""

_LONGEST_S = 86_400.0
"""Longest that a token is believed to live, in seconds; Google's live an hour, at most twelve."""

_BEARER = re.compile(r"[!-~]{1,16384}")

WORDS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        ID: re.compile(r"(?P<word>[0-9]{1,20})"),
        NAME: re.compile(r"(?P<word>[a-z0-9-]{1,63})"),
        ZONE: re.compile(r"(projects/[^/]+/zones/)?(?P<word>[a-z0-9-]{1,63})"),
        _PROJECT: re.compile(r"(?P<word>[a-z0-9.:-]{1,100})"),
    }
)
"""What each path of a VM's identity says, and the word in it."""


def is_signed(answer: Answer) -> bool:
    """Tell whether the answer is Google's."""
    return answer.headers.get("Metadata-Flavor") == FLAVOR["Metadata-Flavor"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which VM this is."""

    project: str
    """Its project's id, not the number."""
    zone: str
    name: str
    id: str
    """The number in decimal, as audit logs have it."""


class GcpMetadata:
    """The metadata server as a giver of identity and tokens.

    Args:
        client: A client for the metadata server's base URL.
        now: Reads both clocks.
    """

    def __init__(self, client: HttpClient, now: Callable[[], Moment]) -> None:
        self._client = client
        self._now = now
        self._identity: Identity | None = None
        self._token = ""
        self._token_ends_s = 0.0

    async def identity(self) -> Identity:
        """Return who this VM is; asked for once.

        Raises:
            GcpCallFailed: It is not known yet.
        """
        if self._identity is None:
            self._identity = Identity(
                project=await self._word(_PROJECT),
                zone=await self._word(ZONE),
                name=await self._word(NAME),
                id=await self._word(ID),
            )
        return self._identity

    async def token(self) -> str:
        """Return a token that is good for another minute at least.

        Raises:
            GcpCallFailed: There is none.
        """
        if self._now().boottime_s >= self._token_ends_s:
            self._token, lasts_s = read_token(await self._get(_TOKEN))
            self._token_ends_s = self._now().boottime_s + lasts_s - _RENEW_S
        return self._token

    def refuse(self, token: str) -> None:
        """Use this token no more: an API has refused it."""
        if token == self._token:
            self._token_ends_s = 0.0

    async def _word(self, path: str) -> str:
        body = await self._get(path)
        found = WORDS[path].fullmatch(body.decode("ascii", "replace").strip())
        if found is None:
            raise _failed(path, f"no such thing: {body[:64]!r}", "malformed")
        return found["word"]

    async def _get(self, path: str) -> bytes:
        try:
            answer = await self._client.call("GET", ROOT + path, FLAVOR)
        except SourceError as error:
            raise _failed(path, str(error), error.outcome) from error
        if not is_signed(answer):
            raise _failed(path, f"status {answer.status}, not Google's answer", "malformed")
        if answer.status == 404 and path == _TOKEN:
            raise _failed(path, "this VM has no service account; give it one", "no_account")
        if answer.status != 200:
            raise _failed(path, f"status {answer.status}", "metadata")
        return answer.body


def read_token(body: bytes) -> tuple[str, float]:
    """Return a token and for how many seconds it lives.

    Raises:
        GcpCallFailed: There is none in it; no part of the body is in the message.
    """
    try:
        said: object = json.loads(body)
    except (ValueError, RecursionError):
        raise _failed(_TOKEN, "no JSON", "malformed") from None
    token = said.get("access_token") if isinstance(said, dict) else None
    lasts_s = said.get("expires_in") if isinstance(said, dict) else None
    if not isinstance(token, str) or not _BEARER.fullmatch(token):
        raise _failed(_TOKEN, "no access_token in it", "malformed")
    if not isinstance(lasts_s, int | float) or not 0 <= lasts_s <= _LONGEST_S:
        raise _failed(_TOKEN, "no credible expires_in", "malformed")
    return token, float(lasts_s)


def _failed(path: str, why: str, outcome: str) -> GcpCallFailed:
    return GcpCallFailed(f"metadata {path}: {why}"[:512], outcome=outcome)
