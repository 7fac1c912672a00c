"""CollectiveAgreement: all ranks act at the same step, by a small collective in every step.

For where the Store is not to be relied on while the run trains. Each boundary
begins an all-reduce of a few numbers, whether any rank has news, and reads the one that was begun
a boundary earlier and has long arrived. All ranks read the same answer at the same boundary, so no
gate has to be closed: where there is news, all wait for the last of them there, each says what it
knows, and rank 0 decides for all by the rule of ``StepAgreement``.

Weaker than that in three ways. Every step pays for the collective (``bench/stop_check.py``). A
notice is agreed on when the slowest rank has come to its next boundary but one, and not before.
And what is heard after the last boundary is agreed on no more, nor is a nearer deadline after the
stop, which then holds its own node's ranks alone.
"""

import logging
from collections.abc import Callable, Sequence

from trainer_hooks.at_stop import Figures
from trainer_hooks.decided import Decided
from trainer_hooks.decision import JOINED, Decision, Position, Published
from trainer_hooks.errors import AgreementError
from trainer_hooks.flag import StopNotice
from trainer_hooks.rule import decide
from trainer_hooks.world import World

log = logging.getLogger(__name__)


class CollectiveAgreement:
    """What ``StepAgreement`` is, for the same arguments, without a thread and without the Store."""

    def __init__(
        self,
        world: World,
        pending: Callable[[], StopNotice | None],
        on_stop: Callable[[], None] = lambda: None,
        figures: Callable[[], Figures | None] = lambda: None,
    ) -> None:
        self._world = world.apart()
        self._pending = pending
        self._on_stop = on_stop
        self._figures = figures
        self._decided = Decided()
        self._position = self._asked = JOINED
        self._told = self._heard = object()
        self._answer: Callable[[], bool] = lambda: False

    def start(self) -> None:
        """Ask for the first time whether anybody has news. Every rank calls it once."""
        self._ask()

    def close(self) -> None:
        """Do nothing: no rank waits for an answer that it has not asked for."""

    def reached(self, step: int, tick: int = 0) -> Decision | None:
        """Pass the boundary before ``step``, or learn what all ranks do there instead.

        Blocks until every rank has come to the boundary before this one, which is long ago; where
        there is news, until every rank has come to this one. Every rank calls it at the same
        boundaries in the same order, from the thread that trains.

        After ``SAVE``, save, and call it again for the same boundary. ``STOP`` is final.

        Raises:
            AgreementError: A rank has gone, or does not pass the same boundaries.
        """
        position = Position(step, tick)
        if position > self._asked and not self._decided.is_final:
            self._asked = position
            try:
                if self._answer():
                    self._agree()
                if not self._decided.is_final:
                    self._ask()
            except RuntimeError as error:
                raise AgreementError(f"a rank has gone: {error!r}") from error
        decision = self._decided.at(position)
        if decision is None:
            self._position = position
        return decision

    def notify(self) -> None:
        """Say that this rank has news. Any thread may call it; it never raises."""
        self._told = object()

    @property
    def stop(self) -> Decision | None:
        """The stop that all ranks have agreed on, or to end before, as soon as it is decided."""
        return self._decided.stop

    @property
    def decided_at(self) -> float | None:
        """When the stop was decided, as seconds of Unix time, for the timeline."""
        return self._decided.stop_at

    @property
    def deadline_s(self) -> float | None:
        """The instant of the agreed stop's deadline on our CLOCK_BOOTTIME, if it is known."""
        return self._decided.deadline_s

    def _ask(self) -> None:
        # An earlier deadline, or a withdrawal, changes what was decided about the end.
        heard, self._heard = self._heard, self._told
        is_changed = self.stop is not None and heard is not self._heard
        has_news = is_changed or self._decided.is_news(self._pending())
        step, tick = self._asked
        # The largest of what is below zero is the least: they are the same where all ranks are.
        answer = self._world.begin_max([int(has_news), step, tick, -step, -tick])
        self._answer = lambda: _has_news(answer())

    def _agree(self) -> None:
        """Say what this rank knows, hear all others, and do as rank 0 decides."""
        # Who is the last may be a minute late, and seconds left would be none any more by then.
        self._world.begin_max([0])()
        figures = self._decided.foreseen(self._figures())
        said = Published.of(self._world.rank, self._position, self._pending(), figures)
        lines = "".join(self._world.from_all(said.encode()))
        # One decides: odds at the limit may fall on either side of it on another kind of CPU.
        is_ours = self._world.is_coordinator
        decided = decide(Published.decode_all(lines.encode())).encode() if is_ours else ""
        decision = Decision.decode(self._world.from_coordinator(decided).encode())
        log.info("rank=%d %s", self._world.rank, decision)
        self._decided.take(decision)
        self._on_stop()
        self._decided.note_answered(said, decision)


def _has_news(numbers: Sequence[int]) -> bool:
    """Read an answer.

    Raises:
        AgreementError: The ranks have asked at different boundaries.
    """
    news, step, tick, least_step, least_tick = numbers
    if (step, tick) != (-least_step, -least_tick):
        raise AgreementError(
            f"the ranks pass different boundaries (of steps {-least_step} to {step}, ticks "
            f"{-least_tick} to {tick}): every rank has to call steps() and boundary() equally often"
        )
    return news > 0
