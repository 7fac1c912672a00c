"""How fast each notice was answered: heard, in the flag, and by each trainer stopped and committed.

The trainers say by themselves when they came to each stage, so that the figures are exact however
seldom anybody looks. A node that dies in two minutes is hardly scraped: what is measured also goes
into the log, and with the state into /v1/state and Events.
"""

import logging
from collections.abc import Iterable, Iterator
from enum import StrEnum

from watcher.metrics import Metrics
from watcher.notice import Moment, Urgency
from watcher.state import Entry, State
from watcher.trainers import FILE_LIMIT, Trainer, TrainerState

log = logging.getLogger(__name__)


class Stage(StrEnum):
    """What is reached; each counts from when the notice was in hand, or came in force."""

    FLAG = "flag"
    """The flag file tells of it."""
    NOTICED = "noticed"
    """A trainer has heard of it."""
    STOPPED = "stopped"
    """It has come to the step at which all ranks stop."""
    COMMITTED = "committed"
    """Its last checkpoint is committed."""


_MAY_BE_COMMITTED = (TrainerState.SAVED, TrainerState.EXITED)


NOTED_LIMIT = 4 * FILE_LIMIT
"""Stages that are noted of one notice: three for each trainer there can be, and the flag. Whoever
invents trainers gets no more lines in the log."""


class NoticeStages:
    """Notes the stages of the notices in force, each once for each trainer.

    Args:
        state: Which notices are in force; their entries keep the last trainer's figures.
        metrics: Where they are counted.
        started: When this daemon began: what was heard before is counted from there.
    """

    def __init__(self, state: State, metrics: Metrics, started: Moment) -> None:
        self._state = state
        self._seconds = metrics.notice_to_stage
        self._started = started
        self._noted: dict[str, set[tuple[str, Stage]]] = {}

    def note(self, trainers: Iterable[Trainer]) -> None:
        """Note what has been reached since the last time."""
        there = list(trainers)
        entries = [entry for entry in self._state.entries() if _is_stop(entry)]
        ids = {entry.standing.notice.id for entry in entries}
        self._noted = {one: noted for one, noted in self._noted.items() if one in ids}
        for entry in entries:
            noted = self._noted.setdefault(entry.standing.notice.id, set())
            for who, stage, seconds in self._reached(entry, there):
                if (who, stage) not in noted and len(noted) < NOTED_LIMIT:
                    noted.add((who, stage))
                    self._note(entry, stage, seconds)

    def _note(self, entry: Entry, stage: Stage, seconds: float) -> None:
        notice = entry.standing.notice
        self._seconds.labels(notice.kind.value, stage.value).observe(seconds)
        entry.stages[stage.value] = max(seconds, entry.stages.get(stage.value, 0.0))
        if stage is Stage.COMMITTED:
            said = " ".join(f"{name}_s={after:.3f}" for name, after in entry.stages.items())
            log.info("notice answered %s %s", notice, said)

    def _reached(
        self, entry: Entry, trainers: Iterable[Trainer]
    ) -> Iterator[tuple[str, Stage, float]]:
        """Yield who has reached what, and how long that took."""
        since = self._since(entry)
        flag = entry.actions.get("flag_file")
        if flag is not None and flag.outcome == "done" and entry.withdrawn is None:
            yield "", Stage.FLAG, max(0.0, flag.at.boottime_s - since.boottime_s)
        began, ended = since.wall.timestamp(), None
        if entry.withdrawn is not None:
            ended = entry.withdrawn.wall.timestamp()
        for trainer in trainers:
            for stage, at in _instants(trainer):
                # What was before belongs to an earlier notice, what came after to a later one.
                if at is not None and at >= began and (ended is None or at <= ended):
                    yield trainer.id, stage, at - began

    def _since(self, entry: Entry) -> Moment:
        received, acts_from = entry.standing.notice.received, entry.standing.acts_from
        return max(received, acts_from or received, self._started, key=lambda at: at.boottime_s)


def _is_stop(entry: Entry) -> bool:
    return entry.standing.urgency is Urgency.STOP and not entry.is_planned


def _instants(trainer: Trainer) -> Iterator[tuple[Stage, float | None]]:
    yield Stage.NOTICED, trainer.figures.noticed_at
    yield Stage.STOPPED, trainer.figures.stopped_at
    if trainer.state in _MAY_BE_COMMITTED and trainer.committed_at is not None:
        yield Stage.COMMITTED, trainer.committed_at.timestamp()
