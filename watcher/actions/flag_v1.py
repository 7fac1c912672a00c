"""The flag file's schema, version 1, in both directions; pure.

Trainers are told nothing else, be it by the file or over HTTP. ``tests/contract/notice_v1.json``
pins it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from watcher.actions.notice_fields import DAMAGE, boottime_of, check_valid, notice_of, wall_of
from watcher.errors import FlagUnreadable
from watcher.notice import Moment, Notice, NoticeKind, Standing, rfc3339

SCHEMA = 1

ALSO_LIMIT = 16
"""Most other notices that are named: readers take a flag of more than 64 KiB for a damaged one."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes the flag: the node's name, and the boot for which the flag is valid."""

    node: str
    boot_id: str


def compose(in_force: Sequence[Standing], writer: Writer, written: Moment, seq: int) -> bytes:
    """Return the flag file for the notices in force, the most urgent first; at least one.

    Those beyond ALSO_LIMIT are not named.
    """
    standing, *others = in_force
    notice = standing.notice
    deadline = notice.deadline
    document = {
        "schema": SCHEMA,
        "seq": seq,
        "id": notice.id,
        "kind": notice.kind,
        "urgency": standing.urgency,
        "source": notice.source,
        "node": writer.node,
        "instance_id": notice.instance_id,
        "action": notice.action,
        "received_at": rfc3339(notice.received.wall),
        "deadline": rfc3339(deadline.wall) if deadline else None,
        "deadline_boottime_s": deadline.boottime_s if deadline else None,
        "written_at": rfc3339(written.wall),
        "written_boottime_s": written.boottime_s,
        "boot_id": writer.boot_id,
        "drill": notice.kind is NoticeKind.DRILL,
        "detail": dict(notice.detail),
        "also": [other.notice.id for other in others[:ALSO_LIMIT]],
    }
    # ASCII only: a cloud's words may hold lone surrogates, which UTF-8 can't.
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def answer(flag: bytes | None, writer: Writer, seq: int) -> bytes:
    """Return what is said over HTTP: the flag file itself, or null while there is none."""
    head = json.dumps({"schema": SCHEMA, "boot_id": writer.boot_id, "seq": seq})
    return head.encode("ascii")[:-1] + b', "notice": ' + (flag or b"null").strip() + b"}\n"


def parse(data: bytes, boot_id: str) -> Notice:
    """Return the notice that a flag of this boot was written for, as it was then.

    Raises:
        FlagUnreadable: It is damaged, of another schema, or of another boot.
    """
    try:
        flag = json.loads(data)
        check_valid(flag, SCHEMA, boot_id)
        written = Moment(wall_of(flag["written_at"]), boottime_of(flag["written_boottime_s"]))
        received = wall_of(flag["received_at"])
        age_s = (written.wall - received).total_seconds()
        return notice_of(flag, Moment(received, written.boottime_s - age_s))
    except DAMAGE as error:
        raise FlagUnreadable(f"{type(error).__name__}: {error}"[:200]) from error
