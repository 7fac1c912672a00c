"""What EC2 has scheduled for an instance, and where its auto-scaling group sends it, by IMDS.

Pure parsers of two metadata keys. Both are levels: what is not in the answer any more is over.

Source: EC2 user guide, "Scheduled events for your instances"; EC2 Auto Scaling user guide,
"Retrieve the target lifecycle state through instance metadata" (both read 2026-11-30).
"""

from collections.abc import Mapping

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind, rfc3339
from watcher.sources.aws_times import any_instant
from watcher.sources.aws_windows import SCHEDULED_WINDOW_S
from watcher.sources.aws_words import IMDS
from watcher.sources.words import bare, decoded, detail, notice_id, shown, word

SCHEDULED = "events/maintenance/scheduled"
ASG_STATE = "autoscaling/target-lifecycle-state"

_KINDS = {
    "instance-retirement": NoticeKind.HARDWARE,
    "instance-stop": NoticeKind.MAINTENANCE,
    "instance-reboot": NoticeKind.MAINTENANCE,
    "system-reboot": NoticeKind.MAINTENANCE,
    "system-maintenance": NoticeKind.MAINTENANCE,
}
"""By Code. Source: EC2 API, EventCode (read 2026-11-30)."""

_OVER_STATES = ("completed", "canceled", "cancelled")
_OVER_PREFIXES = ("[completed]", "[canceled]", "[cancelled]")
_KEYS = frozenset({"Code", "EventId", "NotBefore", "State"})
_TEXT_LIMIT_CHARS = 256

_GOING_STATES = ("terminated", "warmed:terminated")
_STAYING_STATES = (
    *("detached", "inservice", "standby"),
    *("warmed:hibernated", "warmed:running", "warmed:stopped"),
)
"""With the going ones every target there is. Source: EC2 Auto Scaling user guide, "Retrieve the
target lifecycle state through instance metadata" (read 2026-11-30)."""


def parse_scheduled_events(
    body: bytes, received: Moment, instance_id: str | None
) -> tuple[Notice, ...]:
    """Return a notice for each event of ``events/maintenance/scheduled`` that is not over.

    Most are days ahead; when to act on them is for the policy. An entry with an odd code or time
    is a notice all the same, and one that is no event at all leaves the others standing.

    Raises:
        SourceMalformed: The body is not AWS's: no JSON list, or one without a single event.
    """
    entries = decoded(body, SCHEDULED)
    if not isinstance(entries, list):
        raise SourceMalformed(f"{SCHEDULED}: no list: {body[:64]!r}")
    events = [entry for entry in entries if isinstance(entry, dict) and _KEYS & entry.keys()]
    if entries and not events:
        raise SourceMalformed(f"{SCHEDULED}: a list without an event: {body[:64]!r}")
    strange = [f"{len(entries) - len(events)} more entries"] if len(entries) > len(events) else []
    return tuple(
        _notice(event, strange, received, instance_id) for event in events if not _is_over(event)
    )


def parse_target_lifecycle_state(
    body: bytes, received: Moment, instance_id: str | None
) -> Notice | None:
    """Return the termination that ``autoscaling/target-lifecycle-state`` announces, if it does.

    The key says neither when nor which hook waits, so there is no deadline. A documented state that
    is no end is the group's word that the instance stays; a word that nobody has documented is
    neither a yes nor a no.

    Raises:
        SourceMalformed: The body is not one of the documented states.
    """
    state = bare(body, _TEXT_LIMIT_CHARS)
    if state.lower() in _STAYING_STATES:
        return None
    if state.lower() not in _GOING_STATES:
        raise SourceMalformed(f"{ASG_STATE}: no known state: {body[:64]!r}")
    return Notice(
        # Nothing in it tells one termination from another; an instance has only one.
        id=notice_id("aws-asg", state, instance_id),
        kind=NoticeKind.TERMINATION,
        source=IMDS,
        received=received,
        action=state,
        instance_id=instance_id,
    )


def _is_over(event: Mapping[str, object]) -> bool:
    """Tell whether an event is completed or canceled; anything unclear is not."""
    state = word(event.get("State")) or ""
    description = word(event.get("Description")) or ""
    return state.strip().lower() in _OVER_STATES or description.strip().lower().startswith(
        _OVER_PREFIXES
    )


def _notice(
    event: Mapping[str, object], strange: list[str], received: Moment, instance_id: str | None
) -> Notice:
    code = word(event.get("Code"))
    starts = any_instant(event.get("NotBefore"))
    odd = [] if code in _KINDS else [shown("Code", event)]
    odd += [] if starts else [shown("NotBefore", event)]
    deadline = None
    if starts:
        deadline = Deadline.stated(starts, seen=received, longest_s=SCHEDULED_WINDOW_S)
    start = rfc3339(starts) if starts else word(event.get("NotBefore"))
    return Notice(
        id=notice_id("aws-scheduled", word(event.get("EventId")) or code, start, instance_id),
        kind=_KINDS.get(code or "", NoticeKind.MAINTENANCE),
        source=IMDS,
        received=received,
        deadline=deadline,
        action=code,
        instance_id=instance_id,
        detail=detail(
            {
                "EventId": word(event.get("EventId")),
                "NotBefore": word(event.get("NotBefore")),
                "NotAfter": word(event.get("NotAfter")),
                "NotBeforeDeadline": word(event.get("NotBeforeDeadline")),
                "Description": word(event.get("Description"), _TEXT_LIMIT_CHARS),
            },
            odd + strange,
        ),
    )
