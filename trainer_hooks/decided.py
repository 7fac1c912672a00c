"""What the ranks have decided: to be carried out in its order, and the notices it has answered."""

import time
from collections import deque
from dataclasses import replace

from trainer_hooks.at_stop import Figures
from trainer_hooks.clock import boottime_s
from trainer_hooks.decision import Decision, Outcome, Position, Published
from trainer_hooks.errors import AgreementError
from trainer_hooks.flag import StopNotice


class Decided:
    """The decisions on one rank, the same as on any other; its owner keeps the threads apart."""

    def __init__(self) -> None:
        self.stop: Decision | None = None
        """The stop that all ranks have agreed on, or to end before, as soon as it is decided."""
        self.stop_at: float | None = None
        """When it was decided, as seconds of Unix time, for the timeline."""
        self.deadline_s: float | None = None
        """The instant of its deadline on our CLOCK_BOOTTIME, if it is known."""
        self._left: deque[Decision | AgreementError] = deque()
        self._answered: set[tuple[str, bool]] = set()

    @property
    def is_final(self) -> bool:
        """True once all stop: nothing takes that back."""
        return self.stop is not None and self.stop.outcome is Outcome.STOP

    def take(self, decision: Decision) -> None:
        """Have a decision carried out at its boundary, if it has one."""
        if decision.outcome is Outcome.ABORT:
            return
        is_stop = decision.outcome in (Outcome.STOP, Outcome.END)
        if is_stop:
            self.stop_at = time.time()
            self.deadline_s = None if decision.left_s is None else boottime_s() + decision.left_s
        self.stop = decision if is_stop else None
        if decision.outcome in (Outcome.STOP, Outcome.SAVE):
            self._left.append(decision)

    def fail(self, error: AgreementError) -> None:
        """Have the error raised at the next boundary."""
        self._left.append(error)

    def come_nearer(self, left_s: float) -> None:
        """Leave by then, if that is sooner."""
        self.deadline_s = min(boottime_s() + left_s, self.deadline_s or float("inf"))

    def at(self, position: Position) -> Decision | None:
        """Return what is done at a boundary instead of passing it.

        Raises:
            AgreementError: Nothing can be agreed on any more.
        """
        if not self._left:
            return None
        first = self._left[0]
        if isinstance(first, AgreementError):
            raise first
        if first.last is None or position <= first.last:
            return None
        # A stop stays: whoever asks again gets the same answer. Advice is taken once, in order;
        # skipping it because a stop follows would part the ranks that have acted on it already.
        if first.outcome is not Outcome.STOP:
            self._left.popleft()
        return first

    def foreseen(self, figures: Figures | None) -> Figures | None:
        """Count a save that has been decided and not begun as in flight: it will be, by a stop.

        All ranks begin it before they stop. As one that is not there it would be left behind by a
        stop that has nothing to wait for.
        """
        is_save_ahead = any(
            isinstance(one, Decision) and one.outcome is Outcome.SAVE for one in self._left
        )
        if figures is None or figures.in_flight_s is not None or not is_save_ahead:
            return figures
        return replace(figures, in_flight_s=0.0)

    def is_news(self, notice: StopNotice | None) -> bool:
        """Tell whether there is something to agree on, or a nearer deadline of an agreed stop."""
        if notice is None:
            return False
        if self.is_final:
            return notice.is_before(self.deadline_s)
        return (notice.id, notice.is_stop) not in self._answered

    def note_answered(self, published: Published, decision: Decision) -> None:
        """Open no other round for these notices, whoever of this node's ranks hears them later."""
        if decision.outcome is Outcome.ABORT:
            return
        if decision.outcome in (Outcome.SAVE, Outcome.NONE):
            # No stop is in force on any node: one that is told again was withdrawn, and is news.
            self._answered = {answered for answered in self._answered if not answered[1]}
        if published.notice_id is not None:
            self._answered.add((published.notice_id, published.is_stop))
        if decision.outcome is Outcome.SAVE:
            self._answered.update((cause, False) for cause in decision.causes)
