"""A conversation with Compute Engine's metadata server, in which both sides say who they mean.

Source: Compute Engine documentation, "About VM metadata" and "Query VM metadata", waiting for
updates (both read 2026-11-30).
"""

from urllib.parse import quote

from watcher.errors import SourceError, SourceMalformed, SourceThrottled, SourceUnavailable
from watcher.gcp.metadata import FLAVOR, ROOT, is_signed
from watcher.httpclient import Answer, HttpClient
from watcher.sources.gcp_upcoming import says_not_yet

OVERDUE_S = 2.0
"""Seconds after its time at which an answer that was to be held back is given up: the connection
has died, as it does without a word when the VM is moved to another host."""

NOT_GOOGLE = (
    "no header Metadata-Flavor: Google in the answer, so it is not Google's metadata server: is "
    "this a VM of Compute Engine's?"
)
UNREACHABLE = (
    "nothing answers there; in Kubernetes the pod needs hostNetwork, and no policy may keep it "
    "from 169.254.169.254"
)
FORBIDDEN = "the metadata server refuses us, as it does whoever comes through a proxy"


class GcpSession:
    """GETs of one key at a time over one connection.

    Args:
        client: A client for the metadata server's base URL.
    """

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def get(self, path: str) -> Answer:
        """Return the answer for ``path`` as it is now: 200, 404, or the 503 that says "not yet".

        Raises:
            SourceError: There is no such answer, and it is unknown what there is.
        """
        return await self._call(path, None)

    async def changed(self, path: str, etag: str, hold_s: int) -> Answer:
        """Return the answer once its ETag is another than this, or as it is after ``hold_s``.

        Raises:
            SourceError: As for get.
        """
        joint = "&" if "?" in path else "?"
        wait = f"wait_for_change=true&last_etag={quote(etag, safe='')}&timeout_sec={hold_s}"
        return await self._call(f"{path}{joint}{wait}", hold_s + OVERDUE_S)

    async def _call(self, path: str, limit_s: float | None) -> Answer:
        try:
            answer = await self._client.call("GET", ROOT + path, FLAVOR, limit_s=limit_s)
        except SourceUnavailable as error:
            if error.outcome != "unreachable":
                raise
            raise SourceUnavailable(f"{error}; {UNREACHABLE}", outcome=error.outcome) from error
        if answer.status == 503 and says_not_yet(answer.body):
            return answer  # it says nothing, so it does not matter who says it
        if answer.status not in (200, 404):
            raise refusal(answer.status, path)
        if not is_signed(answer):
            raise SourceMalformed(f"GET {path}: HTTP {answer.status}, {NOT_GOOGLE}")
        return answer


def refusal(status: int, path: str, why: str = "") -> SourceError:
    """Return what says that this status is no answer."""
    what = f"GET {path}: HTTP {status}"
    if status == 429:
        return SourceThrottled(what, outcome="throttled")
    if status == 403:
        return SourceUnavailable(f"{what}; {FORBIDDEN}", outcome="forbidden")
    outcome = {3: "redirect", 5: "server_error"}.get(status // 100, "unexpected_status")
    return SourceUnavailable(f"{what}; {why}" if why else what, outcome=outcome)
