"""The notices in force and what each action has done about them, kept in memory.

A notice far ahead is planned: known, shown to people, and not yet in force. What of this has to
outlive the daemon's process is for the flag file and the state file to carry.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from watcher.notice import Moment, Notice, Standing

PAST_LIMIT = 32
"""How many notices that are no longer in force are remembered, for people who look later."""


@dataclass(slots=True)
class ActionRecord:
    """What an action has come to for one notice."""

    outcome: str
    """``done``, ``waiting``, ``retrying``, ``refused``, ``given_up``, ``undone`` or ``dry_run``."""
    at: Moment
    what: str
    """What was done or what is in the way, for people."""
    attempts: int


@dataclass(slots=True)
class Entry:
    """A notice that is or was in force, with what was done about it, by name of the action."""

    standing: Standing
    admitted: Moment
    actions: dict[str, ActionRecord] = field(default_factory=dict)
    withdrawn: Moment | None = None
    outcome: str = ""
    """What has become of it once it is withdrawn; see :class:`watcher.notice.Notice`."""
    is_planned: bool = False
    """Whether it has never been in force so far."""
    stages: dict[str, float] = field(default_factory=dict)
    """Seconds until each stage was reached, by the trainer that came last; for people."""
    heard_s: float = field(init=False)
    """When it was last announced, on CLOCK_BOOTTIME: a withdrawal of an earlier announcement does
    not concern it."""

    def __post_init__(self) -> None:
        self.heard_s = self.standing.notice.received.boottime_s


class State:
    """Who is in force; owned by the responder, read by actions and faces."""

    def __init__(self) -> None:
        self._in_force: dict[str, Entry] = {}
        self._planned: dict[str, Entry] = {}
        self._past: deque[Entry] = deque(maxlen=PAST_LIMIT)

    def admit(self, standing: Standing, at: Moment) -> Entry | None:
        """Put a notice in force; None when one with its id already is, and needs no correction."""
        known = self._in_force.get(standing.notice.id)
        if known is not None:
            return _corrected(known, standing)
        planned = self._planned.pop(standing.notice.id, None)
        entry = self._in_force[standing.notice.id] = Entry(standing, at)
        if planned is not None:
            entry.heard_s = max(entry.heard_s, planned.heard_s)
        return entry

    def plan(self, standing: Standing, at: Moment) -> Entry | None:
        """Keep a notice for later; None when one with its id is known, and needs no correction."""
        known = self._planned.get(standing.notice.id)
        if known is not None:
            return _corrected(known, standing)
        if standing.notice.id in self._in_force:
            return None
        entry = self._planned[standing.notice.id] = Entry(standing, at, is_planned=True)
        return entry

    def retire(self, notice: Notice, at: Moment) -> Entry | None:
        """Take the notice out of force, or out of the plan, and remember it as past.

        Returns:
            Its entry; None when it was neither in force nor planned, or was announced anew after
            what is taken back here: the latest announcement stays.
        """
        known = self._in_force if notice.id in self._in_force else self._planned
        entry = known.get(notice.id)
        if entry is None or entry.heard_s > notice.received.boottime_s:
            return None
        del known[notice.id]
        entry.withdrawn = at
        entry.outcome = notice.outcome
        self._past.append(entry)
        return entry

    def planned(self) -> tuple[Standing, ...]:
        """Return what is planned, the first to come in force first."""
        standings = [entry.standing for entry in self._planned.values()]
        return tuple(sorted(standings, key=lambda standing: standing.counts_until.boottime_s))

    def in_force(self) -> tuple[Standing, ...]:
        """Return what is in force, the most urgent first."""
        standings = (entry.standing for entry in self._in_force.values())
        return tuple(sorted(standings, key=lambda standing: standing.rank))

    def entries(self) -> Iterable[Entry]:
        """Yield every notice known: those in force, the planned, then the past, newest first."""
        yield from self._in_force.values()
        yield from self._planned.values()
        yield from reversed(self._past)


def _corrected(known: Entry, standing: Standing) -> Entry | None:
    """Let a known notice count until an earlier instant; None where that is not what is said."""
    known.heard_s = max(known.heard_s, standing.notice.received.boottime_s)
    if not standing.counts_until.corrects(known.standing.counts_until):
        return None
    known.standing = standing
    return known
