"""Calls of Google's APIs over HTTPS, with the VM's own token; no library of Google's.

Google's libraries cost 70 to 160 MB in a process that idles at 40, and one needs three verbs.

Source: Google Cloud API design guide, "Errors"; Compute Engine documentation, "Authenticate
workloads to Google Cloud APIs using service accounts" (both read 2026-11-30).
"""

import json
from collections.abc import Mapping
from typing import Any

from watcher.errors import GcpCallFailed, SourceError, first_line
from watcher.gcp.metadata import GcpMetadata
from watcher.httpclient import Answer, HttpClient

API_LIMIT_S = 10.0
"""Longest that a call may take, in seconds, which no answer is held back for: a name to look up, a
handshake, and an API that has its slow moments."""

_OUTCOMES: Mapping[int, str] = {
    401: "credentials",
    403: "forbidden",
    404: "not_found",
    429: "throttled",
    503: "throttled",
    504: "nothing_in_time",
}
"""A status's word for a metric's label; the others are ``refused``."""


class GoogleApi:
    """One API at one endpoint, one call at a time.

    Args:
        client: A client for the endpoint; https verifies the server's certificate by the system's
            authorities, so what answers is Google's.
        metadata: Gives tokens.
    """

    def __init__(self, client: HttpClient, metadata: GcpMetadata) -> None:
        self._client = client
        self._metadata = metadata

    async def call(
        self, method: str, path: str, said: object = None, *, limit_s: float | None = None
    ) -> Mapping[str, Any]:
        """Return the JSON object that answers the call; ``said`` is its body, if it has one.

        A token that is refused is replaced once. ``limit_s`` is for an answer that Google holds
        back on purpose.

        Raises:
            GcpCallFailed: There is no such answer. ``code`` is Google's word, such as
                ``PERMISSION_DENIED``, where it has said one.
        """
        what = f"{method} {path.partition('?')[0]}"
        data = None if said is None else json.dumps(said).encode()
        answer, token = await self._once(method, path, data, limit_s)
        if answer.status == 401:
            self._metadata.refuse(token)
            answer, _ = await self._once(method, path, data, limit_s)
        said_back = _object(answer.body)
        if answer.status != 200:
            raise _refusal(what, answer.status, said_back or {})
        if said_back is None:
            raise GcpCallFailed(f"{what}: 200, but no JSON object", outcome="malformed")
        return said_back

    async def _once(
        self, method: str, path: str, data: bytes | None, limit_s: float | None
    ) -> tuple[Answer, str]:
        """Return the answer to one request, and the token that it carried."""
        token = await self._metadata.token()
        headers = {"Authorization": f"Bearer {token}"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            return await self._client.call(method, path, headers, data, limit_s=limit_s), token
        except SourceError as error:
            raise GcpCallFailed(str(error)[:512], outcome=error.outcome) from error


def _object(body: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object in a body; None where there is none."""
    try:
        said: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _refusal(what: str, status: int, said: Mapping[str, Any]) -> GcpCallFailed:
    """Return what says how Google has refused a call."""
    error = said.get("error")
    words: Mapping[str, object] = error if isinstance(error, dict) else {}
    code = words.get("status")
    code = code if isinstance(code, str) and code.replace("_", "").isalpha() else ""
    why = words.get("message")
    line = first_line(why) if isinstance(why, str) else ""
    message = f"{what}: {status} {code}: {line}".removesuffix(": ")[:512]
    return GcpCallFailed(message, outcome=_OUTCOMES.get(status, "refused"), code=code)
