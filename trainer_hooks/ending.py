"""How this process ends: because it was preempted, alone and at once, or for good.

Where a program wants to leave by itself nothing here ends it; it reads the outcome.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from trainer_hooks.clock import boottime_s
from trainer_hooks.errors import SETUP_ERRORS
from trainer_hooks.guard import Guard
from trainer_hooks.launch.exit_codes import (
    EXIT_CONFIG,
    EXIT_DONE,
    EXIT_PEER_LOST,
    EXIT_PREEMPTED,
)
from trainer_hooks.leave import COMMIT_ON_ERROR_S, exit_at_once, exit_process
from trainer_hooks.outcome import RunOutcome
from trainer_hooks.peer_lost import has_lost_peer
from trainer_hooks.refusal import say_why
from trainer_hooks.results import RankState
from trainer_hooks.saves import Saves

log = logging.getLogger(__name__)


class Standing(Protocol):
    """How a run stands, and what it has to do before its process ends."""

    guard: Guard
    saves: Saves | None
    """What it saves, once it has restored."""

    @property
    def outcome(self) -> RunOutcome:
        """How it stands."""

    def tell(self, state: RankState) -> None:
        """Leave word for the launcher."""

    def is_flushed(self, limit_s: Callable[[], float | None], *, is_alone: bool = False) -> bool:
        """Wait for the save in flight until an instant on CLOCK_BOOTTIME; tell if it has ended.

        One that leaves alone waits until all others have heard of it as well.
        """


class Ending:
    """Ends the process of one run.

    Args:
        run: The run.
        exits: Whether it may be ended.
    """

    def __init__(self, run: Standing, *, exits: bool) -> None:
        self._run = run
        self._exits = exits

    def refuse(self, error: BaseException, *, is_save_abandoned: bool = False) -> None:
        """End the process if its set-up is wrong, so that nobody starts it again in vain."""
        if self._exits and isinstance(error, SETUP_ERRORS):
            say_why(error)
            exit_process(EXIT_CONFIG, is_save_abandoned=is_save_abandoned)

    def end(self, *, is_save_abandoned: bool) -> None:
        """End the process if it was preempted, and is to exit then."""
        if self._run.outcome.is_preempted and self._exits:
            exit_process(EXIT_PREEMPTED, is_save_abandoned=is_save_abandoned)

    @contextmanager
    def aloud(self) -> Iterator[None]:
        """Say what is lost where somebody interrupts the end as well."""
        try:
            yield
        except KeyboardInterrupt:
            if self._run.saves is not None and self._run.saves.is_saving:
                log.critical("interrupted again: the save in flight is left uncommitted")
            raise

    def note_failure(self, error: BaseException) -> None:
        """Tell whether a peer was lost, where that is the error; leave if it was time anyway."""
        if has_lost_peer(error):
            self._leave_if_out_of_time()
            self._run.tell(RankState.LOST)

    def leave_now(self) -> None:
        """End the process from any thread, with whatever is done by now."""
        is_finished = self._run.outcome.is_finished
        self._run.tell(RankState.FINISHED if is_finished else RankState.SAVED)
        exit_at_once(EXIT_DONE if is_finished else EXIT_PREEMPTED)

    def leave_bereft(self, how: str, has_left: Callable[[], bool]) -> None:
        """End the process from any thread: a peer is lost, and the training waits for it in vain.

        The save in flight gets its time first: the peer may have done its part.

        Args:
            how: Who is lost, and how that is known.
            has_left: Tells whether the process has come to its end in order meanwhile.
        """
        log.error("%s; %s", how, "leaving with 76" if self._exits else "the program is not ended")
        if not self._exits:
            return
        self._leave_if_out_of_time()
        guard, give_up_s = self._run.guard, boottime_s() + COMMIT_ON_ERROR_S
        limit_s = lambda: min(give_up_s, guard.leave_by_s() or give_up_s)  # noqa: E731 - one line says it
        self._run.is_flushed(limit_s, is_alone=True)
        if not has_left():
            self._run.tell(RankState.LOST)
            exit_at_once(EXIT_PEER_LOST)

    def _leave_if_out_of_time(self) -> None:
        """Leave as agreed: it is no loss, the others' guards were a moment earlier than ours."""
        if self._exits and self._run.guard.is_out_of_time():
            self.leave_now()
