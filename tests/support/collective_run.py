"""A run of ranks that agree by a collective, as threads: what comes to it, and what must hold."""

import threading
import time
from dataclasses import replace

from tests.support.agreeing import notice
from tests.support.collective_plan import Event, Plan, What
from tests.support.group_of_threads import GroupOfThreads, MixedUpError
from trainer_hooks.at_stop import Figures
from trainer_hooks.clock import boottime_s
from trainer_hooks.collective_agreement import CollectiveAgreement
from trainer_hooks.decision import RESTORING, Decision, Outcome, Position
from trainer_hooks.errors import AgreementError
from trainer_hooks.flag import StopNotice

LIMIT_S = 60.0
"""Who takes longer hangs."""

ANSWERED_IN = 3
"""Boundaries that a rank passes, at most, from its news to the decision: it asks at the next one,
reads at that after it, and has the third behind it."""


class _CrashError(Exception):
    """Raised in the training of a rank."""


class _Rank:
    def __init__(self, plan: Plan, group: GroupOfThreads, number: int) -> None:
        self.plan, self.number, self._group = plan, number, group
        self.notice: StopNotice | None = None
        until = plan.until if plan.may_end else None
        self.figures = Figures(step_s=0.001, until=until, saves_s=(0.1,) * 8, in_flight_s=None)
        self.agreement = CollectiveAgreement(
            group.world(number), lambda: self.notice, figures=lambda: self.figures
        )
        self._training = group.world(number).apart().apart()
        self.step = -1
        self.passed = 0
        self.is_to_crash = False
        self.acted: list[tuple[Position, Decision]] = []
        self.end = ""
        self.faults: list[str] = []
        self._told = 0
        self._held: list[int] = []
        """How often this rank had been told, at each boundary."""
        self.thread = threading.Thread(target=self._run, daemon=True)

    def tell(self, news: StopNotice | None) -> None:
        """Let this rank's listener hear, or hear no more, of a notice."""
        self._told += 1
        self.notice = news
        self.agreement.notify()

    def _run(self) -> None:
        try:
            self.end = self._train()
        except (AgreementError, RuntimeError) as error:
            self.end = f"failed: {error}"
        except _CrashError:
            self.end = "crashed"
        except MixedUpError as error:
            self.faults.append(f"rank {self.number} is in another collective: {error}")
        finally:
            if not self.end.startswith(("stopped", "finished")):
                self._group.leave(self.number)

    def _train(self) -> str:
        plan = self.plan
        self.agreement.start()
        if self._is_stopped_at(RESTORING):
            return f"stopped at {RESTORING}"
        for step in range(plan.until + 1):
            if self._is_stopped_at(Position(step)):
                return f"stopped at {Position(step)}"
            if step == plan.until:
                break
            self.step = step
            time.sleep(plan.delays.get((self.number, step), 0.0005))
            if self.is_to_crash:
                raise _CrashError
            if plan.is_coupled:
                self._training.begin_max([0])()
            for tick in range(1, plan.ticks + 1):
                if self._is_stopped_at(Position(step, tick)):
                    return f"stopped at {Position(step, tick)}"
        return "finished"

    def _is_stopped_at(self, boundary: Position) -> bool:
        self._held.append(self._told)
        while (decision := self.agreement.reached(*boundary)) is not None:
            self.acted.append((boundary, decision))
            if decision.outcome is Outcome.STOP:
                return True
        self.passed += 1
        self._look_for_the_unheard()
        return False

    def _look_for_the_unheard(self) -> None:
        """A stop that is in force for long enough is decided, or the run is left to its end."""
        held, notice, stop = self._held[-ANSWERED_IN:], self.notice, self.agreement.stop
        is_old = len(held) == ANSWERED_IN and {*held} == {self._told}
        if not is_old or notice is None or not notice.is_stop:
            return
        if stop is None or notice.id not in stop.causes:
            self.faults.append(f"rank {self.number} was not heard: {notice.id}, {stop}")


class CollectiveRun:
    """Runs a plan to its end."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.group = GroupOfThreads(plan.size)
        self.ranks = [_Rank(plan, self.group, number) for number in range(plan.size)]
        self._at_last_event = [0] * plan.size

    def faults(self) -> list[str]:
        """Run, and return what does not hold."""
        for rank in self.ranks:
            rank.thread.start()
        for event in self.plan.events:
            if not self._await_step(event):
                break
            self._inflict(event)
            self._at_last_event = [rank.passed for rank in self.ranks]
        end_s = time.monotonic() + LIMIT_S
        for rank in self.ranks:
            rank.thread.join(max(0.0, end_s - time.monotonic()))
        if hung := [rank.number for rank in self.ranks if rank.thread.is_alive()]:
            for rank in self.ranks:
                self.group.leave(rank.number)
            return [f"ranks {hung} hang: {self.group.waiting}"]
        return [*(fault for rank in self.ranks for fault in rank.faults), *self._differences()]

    def _differences(self) -> list[str]:
        ranks = self.ranks
        ends = {rank.end for rank in ranks}
        shortest = min(len(rank.acted) for rank in ranks)
        is_alike = len({str(rank.acted[:shortest]) for rank in ranks}) == 1
        found = [] if is_alike else [f"ranks act differently: {[rank.acted for rank in ranks]}"]
        if any(rank.end == "crashed" for rank in ranks):
            return found  # the others have ended before, or fail: anything but a hang
        if len(ends) > 1 or "failed" in ranks[0].end:
            found.append(f"ranks end differently, or fail: {[rank.end for rank in ranks]}")
        if len({len(rank.acted) for rank in ranks}) > 1:
            found.append(f"not all ranks have acted: {[rank.acted for rank in ranks]}")
        if len({str(rank.agreement.stop) for rank in ranks}) > 1:
            found.append(f"ranks know different stops: {[rank.agreement.stop for rank in ranks]}")
        return [*found, *self._not_taken_back()]

    def _not_taken_back(self) -> list[str]:
        """What was withdrawn everywhere before the decision, or left to the end, stops nobody."""
        for rank, then in zip(self.ranks, self._at_last_event, strict=True):
            stop = rank.agreement.stop
            is_over = all(one.notice is None for one in self.ranks)
            is_known = rank.passed - then >= ANSWERED_IN
            if is_over and is_known and stop is not None and stop.outcome is Outcome.END:
                return [f"rank {rank.number} still holds to what was withdrawn: {stop}"]
        return []

    def _await_step(self, event: Event) -> bool:
        """Wait until the first rank of a node has begun a step; tell whether it has."""
        rank = self.ranks[self.plan.ranks_of(event.node)[0]]
        while rank.step < event.step:
            if not rank.thread.is_alive():
                return False
            time.sleep(0.0002)
        return True

    def _inflict(self, event: Event) -> None:
        for number in self.plan.ranks_of(event.node):
            rank = self.ranks[number]
            now = rank.notice
            match event.what:
                case What.CRASH:
                    rank.is_to_crash = True
                    return
                case What.STOP | What.ADVICE:
                    name = f"{event.what}-{event.step}-of-{event.node}"
                    rank.tell(notice(name, is_stop=event.what is What.STOP, left_s=event.left_s))
                case What.WITHDRAWAL:
                    rank.tell(None)
                case What.FLICKER if now is not None:
                    rank.tell(None)
                    rank.tell(now)
                case What.NEARER if now is not None and now.is_stop:
                    rank.tell(replace(now, deadline_s=boottime_s() + 2.5))
                case _:
                    pass
            time.sleep(event.pause_s)
