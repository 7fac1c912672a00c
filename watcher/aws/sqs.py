"""One SQS queue: receive, delete, hide for longer; each verb in a thread of its own.

A receive may wait at AWS for 20 s, so the other two must not stand behind it.

Source: SQS API reference, ReceiveMessage, DeleteMessageBatch, ChangeMessageVisibilityBatch;
SQS developer guide, "Long polling" and "Visibility timeout" (read 2026-11-30).
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from watcher.aws.boto import LazyClient, failing_as
from watcher.aws.limited_calls import LimitedCalls
from watcher.aws.sqs_answers import refused, require_proof
from watcher.custody import BATCH, Message

LONG_POLL_S = 20
"""Longest wait of a receive at AWS, in seconds."""

_RECEIVE = "SQS ReceiveMessage"
_DELETE = "SQS DeleteMessage"
_HIDE = "SQS ChangeMessageVisibility"
"""The calls, for people."""

_REGION_NAME = r"([a-z]{2,5}(?:-[a-z]+)+-\d{1,2})"
_REGION = re.compile(
    rf"(?:vpce-[a-z0-9-]+\.)?sqs(?:-fips)?\.{_REGION_NAME}\.|{_REGION_NAME}\.queue\."
)
"""Regional, FIPS and VPC endpoints, and the older name. Source: AWS general reference, "Amazon SQS
endpoints and quotas"; SQS developer guide, "VPC endpoints" (read 2026-11-30)."""


class _Client(Protocol):
    def receive_message(self, **arguments: object) -> Mapping[str, Any]: ...
    def delete_message_batch(self, **arguments: object) -> Mapping[str, Any]: ...
    def change_message_visibility_batch(self, **arguments: object) -> Mapping[str, Any]: ...


class SqsQueue:
    """A queue of ours, by its URL; its region is read from that, else from the environment."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._boto = LazyClient("sqs", region_of(url), wait_s=LONG_POLL_S)
        renew = self._boto.renew
        self._receiving = LimitedCalls[list[Message]](_RECEIVE, renew)
        self._deleting = LimitedCalls[dict[str, str]](_DELETE, renew)
        self._hiding = LimitedCalls[dict[str, str]](_HIDE, renew)

    async def receive(self, *, wait_s: int, visibility_s: int) -> list[Message]:
        """Return up to ten messages, and hide them for ``visibility_s`` seconds.

        Waits up to ``wait_s`` seconds at AWS for the first one. A caller that is cancelled leaves
        the call running; what it brings is seen again when its visibility runs out.

        Raises:
            AwsCallFailed: It is unknown whether there are messages.
        """
        work = partial(self._receive, wait_s, visibility_s)
        return await self._receiving.call(work, wait_s=wait_s)

    async def delete(self, handles: Sequence[str]) -> dict[str, str]:
        """Delete up to ten messages by their receipts; return those refused, each with its code.

        Raises:
            AwsCallFailed: Perhaps none has been deleted.
        """
        work = partial(self._delete, handles)
        return await self._deleting.call(work)

    async def hide(self, handles: Sequence[str], *, visibility_s: int) -> dict[str, str]:
        """Hide up to ten messages for ``visibility_s`` seconds from now; return as delete does.

        Raises:
            AwsCallFailed: Perhaps none has been hidden.
        """
        work = partial(self._hide, handles, visibility_s)
        return await self._hiding.call(work)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._boto.close()

    def _receive(self, wait_s: int, visibility_s: int) -> list[Message]:
        with failing_as(_RECEIVE):
            answer = self._client().receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=BATCH,
                WaitTimeSeconds=wait_s,
                VisibilityTimeout=visibility_s,
                MessageSystemAttributeNames=["ApproximateReceiveCount"],
            )
            require_proof(answer, _RECEIVE)
            return [_message(raw) for raw in answer.get("Messages") or ()]

    def _delete(self, handles: Sequence[str]) -> dict[str, str]:
        entries = [{"Id": str(n), "ReceiptHandle": handle} for n, handle in enumerate(handles)]
        with failing_as(_DELETE):
            answer = self._client().delete_message_batch(QueueUrl=self._url, Entries=entries)
            return refused(answer, handles, _DELETE)

    def _hide(self, handles: Sequence[str], visibility_s: int) -> dict[str, str]:
        entries = [
            {"Id": str(n), "ReceiptHandle": handle, "VisibilityTimeout": visibility_s}
            for n, handle in enumerate(handles)
        ]
        with failing_as(_HIDE):
            answer = self._client().change_message_visibility_batch(
                QueueUrl=self._url, Entries=entries
            )
            return refused(answer, handles, _HIDE)

    def _client(self) -> _Client:
        return cast("_Client", self._boto.get())


def region_of(queue_url: str) -> str | None:
    """Return the region that an SQS queue's URL names; None for one that names none."""
    found = _REGION.match(urlsplit(queue_url).hostname or "")
    return found[1] or found[2] if found else None


def _message(raw: Mapping[str, Any]) -> Message:
    counted = raw.get("Attributes", {}).get("ApproximateReceiveCount", "1")
    return Message(
        id=str(raw["MessageId"]),
        handle=str(raw["ReceiptHandle"]),
        body=str(raw["Body"]),
        receipts=int(counted),
    )
