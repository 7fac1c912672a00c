"""One Pub/Sub subscription: pull, acknowledge, extend; over HTTPS, without Google's library.

Source: Pub/Sub API reference v1, ``projects.subscriptions`` pull, acknowledge, modifyAckDeadline;
Pub/Sub documentation, "Pull subscriptions", "Lease management" (all read 2026-11-30).
"""

import base64
import binascii
from collections.abc import Mapping, Sequence

from watcher.custody import BATCH, Message
from watcher.errors import GcpCallFailed
from watcher.gcp.rest import GoogleApi

ANSWER_LIMIT_BYTES = 4 * 1024 * 1024
"""Largest answer to a pull that is read: ten log entries of 256 KiB, the most that Cloud Logging
takes, in base64. Source: Cloud Logging documentation, "Quotas and limits" (read 2026-11-30)."""

PULL_LIMIT_S = 100.0
"""Longest that a pull may take, in seconds. Pub/Sub holds one for up to about 90 s, and gives what
comes meanwhile to a caller that has gone, so none is given up before that. Source: the thread of
googleapis/google-cloud-node issue 980 (read 2026-11-30); the reference says only that it waits."""


class Subscription:
    """A subscription of ours, by its full name ``projects/PROJECT/subscriptions/NAME``.

    Args:
        name: That name.
        pulling: The Pub/Sub API over a connection that may be held for long.
        telling: The same over another one, so that no acknowledgement stands behind a pull.
    """

    def __init__(self, name: str, pulling: GoogleApi, telling: GoogleApi) -> None:
        self._path = f"/v1/{name}"
        self._pulling = pulling
        self._telling = telling

    async def receive(self, *, wait_s: int, visibility_s: int) -> list[Message]:
        """Return up to ten messages, hidden for as long as the subscription says.

        Unless ``wait_s`` is 0 Pub/Sub waits for the first one, as long as it likes. A wait that
        nobody ends says nothing, so one pull that does not wait then answers for it.

        Raises:
            GcpCallFailed: It is unknown whether there are messages.
        """
        del visibility_s  # a pull can't set it: the subscription's own deadline counts
        if wait_s > 0:
            try:
                return await self._pull({"maxMessages": BATCH}, limit_s=PULL_LIMIT_S)
            except GcpCallFailed as error:
                if error.outcome not in ("nothing_in_time", "timeout"):
                    raise
        return await self._pull({"maxMessages": BATCH, "returnImmediately": True})

    async def delete(self, handles: Sequence[str]) -> dict[str, str]:
        """Acknowledge messages by their receipts; Pub/Sub takes all or none.

        Raises:
            GcpCallFailed: Perhaps none has been acknowledged.
        """
        await self._telling.call("POST", f"{self._path}:acknowledge", {"ackIds": list(handles)})
        return {}

    async def hide(self, handles: Sequence[str], *, visibility_s: int) -> dict[str, str]:
        """Keep messages for ``visibility_s`` seconds from now; Pub/Sub takes all or none.

        Raises:
            GcpCallFailed: Perhaps none is kept.
        """
        said = {"ackIds": list(handles), "ackDeadlineSeconds": visibility_s}
        await self._telling.call("POST", f"{self._path}:modifyAckDeadline", said)
        return {}

    async def _pull(
        self, said: Mapping[str, object], *, limit_s: float | None = None
    ) -> list[Message]:
        answer = await self._pulling.call("POST", f"{self._path}:pull", said, limit_s=limit_s)
        received = answer.get("receivedMessages", [])
        if not isinstance(received, list):
            raise GcpCallFailed("pull: receivedMessages is no list", outcome="malformed")
        return [read_message(one) for one in received]


def read_message(received: object) -> Message:
    """Return a message; one whose data can't be read is there all the same, and is refused later.

    Raises:
        GcpCallFailed: It can't be told from others, or not be acknowledged.
    """
    envelope = received if isinstance(received, dict) else {}
    inner = envelope.get("message")
    said: Mapping[str, object] = inner if isinstance(inner, dict) else {}
    name, handle = said.get("messageId"), envelope.get("ackId")
    if not isinstance(name, str) or not isinstance(handle, str):
        raise GcpCallFailed("pull: a message without messageId and ackId", outcome="malformed")
    times = envelope.get("deliveryAttempt", 0)
    return Message(
        id=name,
        handle=handle,
        body=_text(said.get("data")),
        receipts=times if isinstance(times, int) else 0,
    )


def _text(data: object) -> str:
    try:
        raw = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return ""
    return raw.decode("utf-8", "replace")
