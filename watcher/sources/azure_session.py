"""Azure's instance metadata service: GETs that it answers with 200, or that say nothing.

It has no word for "not there": where there is no event, it says so in a document. So a 404 is not
an answer, and neither is any other status.

Source: Azure virtual machines, "Azure Instance Metadata Service" and "Scheduled Events for Linux
VMs" (read 2026-11-30).
"""

from collections.abc import Callable

from watcher.errors import SourceThrottled, SourceUnavailable
from watcher.httpclient import Answer, HttpClient
from watcher.notice import Moment

EVENTS_PATH = "/metadata/scheduledevents?api-version=2020-07-01"
NAME_PATH = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
VM_ID_PATH = "/metadata/instance/compute/vmId?api-version=2021-02-01&format=text"

HEADERS = {"Metadata": "true"}
"""Without it every request is refused, so that no redirected one is answered."""

LIMIT_S = 5.0
"""Longest that an answer may take, in seconds. Other watchers of Azure's have found 1 s too short;
Azure promises nothing."""

FIRST_LIMIT_S = 150.0
"""Longest that the first answer about events may take, in seconds: the first question switches them
on for this machine, which takes up to two minutes."""

OFF_AFTER_S = 23 * 3600.0
"""Seconds without a question after which the next one counts as the first: Azure switches events
off after 24 h."""

_REFUSALS = {401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "throttled"}

NOT_AZURE = "whoever answers there is not Azure's metadata service; see azure.metadata_endpoint"
BLOCKED = "a firewall or a NetworkPolicy blocks it, or this is not Azure"
_CAUSES = {
    400: "a proxy on the way adds X-Forwarded-For, or drops the header Metadata",
    403: "a firewall or a policy of the cluster's keeps us from it; use the host's network",
    404: NOT_AZURE,
    405: NOT_AZURE,
}


class AzureSession:
    """A conversation with IMDS, whose only answer is 200.

    Args:
        client: A client for the endpoint's base URL, with LIMIT_S as its limit.
        now: Reads both clocks.
        first_limit_s: Longest that the first answer may take, where it may take longer than others.
    """

    def __init__(
        self, client: HttpClient, now: Callable[[], Moment], first_limit_s: float | None = None
    ) -> None:
        self._client = client
        self._now = now
        self._first_limit_s = first_limit_s
        self._answered_s: float | None = None

    async def get(self, path: str) -> Answer:
        """Return IMDS's answer for ``path``.

        Raises:
            SourceError: There is none, and what it would have said is unknown.
        """
        limit_s = self._first_limit_s if self._is_first() else None
        try:
            answer = await self._client.call("GET", path, HEADERS, limit_s=limit_s)
        except SourceUnavailable as error:
            if error.outcome != "unreachable":
                raise
            why = f"{error}; {BLOCKED}"
            raise SourceUnavailable(why, outcome=error.outcome) from error
        if answer.status != 200:
            raise refusal(answer.status, f"GET {path}")
        self._answered_s = self._now().boottime_s
        return answer

    def _is_first(self) -> bool:
        answered_s = self._answered_s
        return answered_s is None or self._now().boottime_s - answered_s > OFF_AFTER_S


def refusal(status: int, what: str) -> SourceUnavailable:
    """Return the error for a status that says nothing.

    Only 429 asks for fewer requests. 410 and 500 are documented as passing.
    """
    outcome = _REFUSALS.get(status, "unexpected_status")
    if outcome == "unexpected_status" and status // 100 in (3, 5):
        outcome = "redirect" if status // 100 == 3 else "server_error"
    error = SourceThrottled if outcome == "throttled" else SourceUnavailable
    why = f"; {_CAUSES[status]}" if status in _CAUSES else ""
    return error(f"{what}: HTTP {status}{why}", outcome=outcome)
