"""What an answer of the API server's means: its object, or an error of ours. Pure."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any

from watcher.errors import (
    KubeBlocked,
    KubeConflict,
    KubeError,
    KubeForbidden,
    KubeGone,
    KubeMalformed,
    KubeNotFound,
    KubeRefused,
    KubeThrottled,
    KubeUnavailable,
)

JsonObject = Mapping[str, Any]
"""An object as it came over the wire."""

RETRY_AFTER_LIMIT_S = 60.0
"""Longest that an answer can have us wait, in seconds."""

_TWO_BUDGETS = "more than one PodDisruptionBudget"
"""What the eviction subresource says, with a 500, of a pod under two budgets. Source: Kubernetes,
pkg/registry/core/pod/storage/eviction.go (read 2026-11-30)."""

_BY_STATUS: Mapping[int, Callable[[str], KubeError]] = MappingProxyType(
    {
        401: KubeUnavailable,
        403: KubeForbidden,
        404: KubeNotFound,
        408: KubeUnavailable,  # of a proxy that could not pass it on
        409: KubeConflict,
        410: KubeGone,
    }
)


def parsed(body: bytes, what: str) -> JsonObject:
    """Return the JSON object that a body is.

    Raises:
        KubeMalformed: It is none.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise KubeMalformed(f"{what}: no JSON: {body[:64]!r}") from error
    if not isinstance(said, dict):
        raise KubeMalformed(f"{what}: no JSON object: {body[:64]!r}")
    return said


def refusal(status: int, body: bytes, headers: Mapping[str, str], what: str) -> KubeError:
    """Return what a status that is no success means; the body is a Status object, or anybody's."""
    try:
        said = parsed(body, what)
    except KubeMalformed:
        said = {}
    message = f"{what}: {status} {str(said.get('message') or body[:128])[:256]}"
    if status == 500 and _TWO_BUDGETS in message:
        return KubeBlocked(message, retry_after_s=None)
    if status == 429:
        retry_after_s = _retry_after_s(headers)
        if _is_budget(said):
            return KubeBlocked(message, retry_after_s=retry_after_s)
        return KubeThrottled(message, retry_after_s=retry_after_s)
    if status >= 500 or status < 400:
        return KubeUnavailable(message)
    return _BY_STATUS.get(status, KubeRefused)(message)


def stated(status: JsonObject, what: str) -> KubeError:
    """Return what the Status object in a watch's ERROR line means."""
    code = status.get("code")
    number = code if isinstance(code, int) else 500
    return refusal(number, json.dumps(status).encode(), {}, what)


def stamped(headers: Mapping[str, str]) -> datetime | None:
    """Return the server's clock as an answer shows it, in whole seconds; None where it does not."""
    try:
        at = parsedate_to_datetime(headers.get("Date", ""))
    except (ValueError, OverflowError):
        return None
    return None if at.tzinfo is None else at


def _is_budget(status: JsonObject) -> bool:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    found = causes if isinstance(causes, list) else []
    return any(isinstance(one, dict) and one.get("reason") == "DisruptionBudget" for one in found)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After", "").strip()
    if not (text.isascii() and text.isdecimal()):
        return None
    return min(float(text[:6]), RETRY_AFTER_LIMIT_S)
