"""What the metadata server says of taking the VM now: pure parsers of two keys.

Source: Compute Engine documentation, "Spot VMs" and "Get live migration notices" (both read
2026-11-30).
"""

import re

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.gcp_windows import EVENT_WINDOW_S, PREEMPTION_WINDOW_S
from watcher.sources.words import bare, detail, notice_id

METADATA = "gcp_metadata"
"""Name of the source that reads the metadata server."""

PREEMPTED = "instance/preempted"
EVENT = "instance/maintenance-event"

_WORD_LIMIT_BYTES = 128
_NO_EVENT = "NONE"
_MIGRATE = "MIGRATE_ON_HOST_MAINTENANCE"
_TERMINATE = "TERMINATE_ON_HOST_MAINTENANCE"
_EVENT_WORD = re.compile(r"[A-Z][A-Z_]{0,63}_ON_HOST_MAINTENANCE")


def parse_preempted(
    body: bytes,
    received: Moment,
    instance_id: str | None,
    *,
    window_s: float = PREEMPTION_WINDOW_S,
) -> Notice | None:
    """Return the preemption that ``instance/preempted`` announces; None where it says FALSE.

    Raises:
        SourceMalformed: It says neither, so it is not Google's.
    """
    word = _word(body)
    if word == "FALSE":
        return None
    if word != "TRUE":
        raise SourceMalformed(f"{PREEMPTED}: neither TRUE nor FALSE: {body[:64]!r}")
    return Notice(
        # Nothing in it tells one preemption from another; a running VM has only one.
        id=notice_id("gcp-preempted", instance_id),
        kind=NoticeKind.PREEMPTION,
        source=METADATA,
        received=received,
        deadline=Deadline.after(received, window_s),
        action=word,
        instance_id=instance_id,
        detail={"key": PREEMPTED},
    )


def parse_maintenance_event(
    body: bytes,
    received: Moment,
    instance_id: str | None,
    *,
    is_preemptible: bool | None = None,
    window_s: float = EVENT_WINDOW_S,
) -> Notice | None:
    """Return what ``instance/maintenance-event`` announces; None where it says NONE.

    A migration is advice. All else ends the VM, also in a word that nobody has documented; for a
    preemptible VM that is its preemption.

    Raises:
        SourceMalformed: It is no such word, so it is not Google's.
    """
    word = _word(body)
    if word == _NO_EVENT:
        return None
    if not _EVENT_WORD.fullmatch(word):
        raise SourceMalformed(f"{EVENT}: no known event: {body[:64]!r}")
    kind = NoticeKind.PREEMPTION if is_preemptible else NoticeKind.MAINTENANCE
    if word == _MIGRATE:  # the longer notice is for VMs with GPUs, which do not migrate
        kind, window_s = NoticeKind.LIVE_MIGRATION, min(window_s, EVENT_WINDOW_S)
    return Notice(
        id=notice_id("gcp-maintenance-event", word, instance_id),
        kind=kind,
        source=METADATA,
        received=received,
        deadline=Deadline.after(received, window_s),
        action=word,
        instance_id=instance_id,
        detail=detail({"key": EVENT}, [] if word in (_MIGRATE, _TERMINATE) else [f"event {word}"]),
    )


def _word(body: bytes) -> str:
    """Return a bare word as it is compared: with or without a byte order mark, in any case."""
    return bare(body, _WORD_LIMIT_BYTES).strip('"').upper()
