"""StepAgreement: all ranks act at the same step, without a collective per step.

How a round goes, over the Store the ranks already share (``docs/agreement.md`` has the proof):

1. A rank with news sets the round's ``news`` key; each rank's thread is blocked on that key.
2. Woken, the thread closes the gate, so that its own training thread cannot pass another
   boundary, and publishes the boundary passed last.
3. The last rank to publish decides; one compare-and-set fixes the value; all gates open.
4. Every rank trains up to the first boundary beyond the furthest one published, and acts there.

A rank that does not answer in time makes the round an abort, by the same compare-and-set: nobody
has stopped, so everybody trains on and a new round starts.
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from torch.distributed import DistError, DistStoreError

from trainer_hooks.at_stop import Figures
from trainer_hooks.decided import Decided
from trainer_hooks.decision import ABORTED, JOINED, Decision, Outcome, Position, Published
from trainer_hooks.errors import AgreementError
from trainer_hooks.flag import StopNotice
from trainer_hooks.rule import decide, patience_s
from trainer_hooks.world import FOREVER, World

log = logging.getLogger(__name__)


class StepAgreement:
    """The gate before each step, and the thread that closes it while ranks agree.

    Args:
        world: The ranks; each opens two connections of its own to the Store.
        pending: Returns the notice in force on this rank's node, from any thread.
        on_stop: Called from the agreement's thread as soon as ``stop`` may have changed, while
            the training thread may be anywhere.
        figures: Returns what this rank has measured, from any thread; a stop is planned by it.
    """

    def __init__(
        self,
        world: World,
        pending: Callable[[], StopNotice | None],
        on_stop: Callable[[], None] = lambda: None,
        figures: Callable[[], Figures | None] = lambda: None,
    ) -> None:
        self._world = world
        self._figures = figures
        self._pending = pending
        self._on_stop = on_stop
        self._gate = threading.Lock()
        self._position = JOINED
        self._decided = Decided()
        self._waiting, self._talking = world.connection(), world.connection()
        self._round = 0
        self._is_open = self._closing = False
        self._thread = threading.Thread(target=self._serve, name="reprieve-agreement", daemon=True)

    def start(self) -> None:
        """Register this rank; rounds open once every rank has. Every rank calls it once.

        Raises:
            AgreementError: The Store is lost.
        """
        try:
            if self._talking.add("joined", 1) == self._world.size:
                self._talking.set("open", "1")
        except DistError as error:
            raise AgreementError(f"the Store is lost: {error!r}") from error
        self._thread.start()

    def close(self) -> None:
        """Stop answering. Call it only when no rank will train again."""
        self._closing = True
        try:
            self._talking.compare_set(self._key("news"), "", json.dumps(None))
        except DistError:
            log.debug("the Store has gone before us")
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def reached(self, step: int, tick: int = 0) -> Decision | None:
        """Pass the boundary before ``step``, or learn what all ranks do there instead.

        Local: an uncontended lock and a look at an empty queue while no notice is in force.
        Blocks, for at most the round's patience, while ranks agree. Every rank calls it at the
        same boundaries in the same order, from the thread that trains.

        After ``SAVE``, save, and call it again for the same boundary. ``STOP`` is final.

        Raises:
            AgreementError: The Store is lost.
        """
        with self._gate:
            position = Position(step, tick)
            decision = self._decided.at(position)
            if decision is None:
                self._position = position
            return decision

    def notify(self) -> None:
        """Start a round if this rank has news. Any thread may call it; it never raises."""
        try:
            if self._is_open and not self._closing:
                # An earlier deadline, or a withdrawal, changes what was decided about the end.
                self._announce(again=self.stop is not None and not self._decided.is_final)
        except DistError as error:
            log.warning("news could not be told: %s", error)

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

    def _serve(self) -> None:
        """Answer rounds until this is closed or the Store is gone."""
        try:
            self._waiting.wait(["open"], FOREVER)
            self._is_open = True
            self._announce()
            # close() wakes the round it sees; one that has begun since is not waited for.
            while not self._closing and self._answer_round():
                self._announce()
        except Exception as error:  # noqa: BLE001 - a thread that died unseen would make every round an abort, for ever
            if not self._closing and not self._decided.is_final:
                log.warning("this rank can agree on nothing any more: %r", error)
                self._decided.fail(AgreementError(f"the Store is lost: {error!r}"))

    def _announce(self, *, again: bool = False) -> None:
        """Open the current round if there is news: after the stop, only of a nearer deadline."""
        notice = self._pending()
        if self._decided.is_news(notice) or (again and not self._decided.is_final):
            news = json.dumps({"left_s": notice and notice.left_s})
            self._talking.compare_set(self._key("news"), "", news)

    def _answer_round(self) -> bool:
        """Answer one round; tell whether there may be another."""
        self._waiting.wait([self._key("news")], FOREVER)
        news = json.loads(self._talking.get(self._key("news")))
        if self._closing or news is None:
            return False
        if self._decided.is_final:
            self._come_nearer(news["left_s"])
            return True
        patience = patience_s(news["left_s"])
        with self._gate:
            published = self._publish()
            decision, was_in_time = self._await_decision(patience)
            self._decided.take(decision)
        log.info("round=%d rank=%d %s", self._round, self._world.rank, decision)
        if decision.outcome is not Outcome.ABORT:
            self._on_stop()
            self._decided.note_answered(published, decision)
        # The number goes up before the next look for news: whoever brings news in between
        # either sees the new number or is seen by that look.
        self._round += 1
        if not was_in_time:
            time.sleep(patience / 2)  # let the late rank come to its senses
        return True

    def _come_nearer(self, left_s: float | None) -> None:
        """Leave sooner after the stop: some node goes sooner. Nobody is asked, no gate closes."""
        if left_s is not None:  # else it was told as the stop was decided, and is no news
            log.warning("round=%d rank=%d left_s=%.1f", self._round, self._world.rank, left_s)
            self._decided.come_nearer(left_s)
            self._on_stop()
        self._round += 1

    def _publish(self) -> Published:
        figures = self._decided.foreseen(self._figures())
        record = Published.of(self._world.rank, self._position, self._pending(), figures)
        self._talking.append(self._key("published"), record.encode())
        # The append went before on the same connection, so the last to count sees them all.
        if self._talking.add(self._key("count"), 1) == self._world.size:
            records = Published.decode_all(self._talking.get(self._key("published")))
            self._propose(decide(records))
        return record

    def _await_decision(self, patience: float) -> tuple[Decision, bool]:
        """Return the round's decision, and whether every rank was in time for it."""
        was_in_time = True
        try:
            self._waiting.wait([self._key("decision")], timedelta(seconds=patience))
        except DistStoreError:
            was_in_time = False
            self._propose(ABORTED)
        return Decision.decode(self._talking.get(self._key("decision"))), was_in_time

    def _propose(self, decision: Decision) -> None:
        self._talking.compare_set(self._key("decision"), "", decision.encode())

    def _key(self, name: str) -> str:
        return f"round/{self._round}/{name}"
