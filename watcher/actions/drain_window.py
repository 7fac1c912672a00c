"""The time that a drain has: until when budgets are asked, and when everything is over; pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from watcher.notice import Deadline, Moment, Standing

MARGIN_S = 1.0
"""Seconds before the deadline by which a pod's grace ends: times of a pod are in whole seconds, and
the kubelet has to hear of them."""

GUESS_LEAST_S = 10.0
"""Seconds that a drain has at least where the cloud has stated no deadline: one that is only
guessed, of failing hardware say, may be no time at all."""

_LEAST_RESERVE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when to when; instants are on CLOCK_BOOTTIME."""

    begins_s: float
    forced_s: float
    """From then on pods are deleted, whatever their budgets say and whoever is at work."""
    deadline: Deadline

    def is_forced(self, now: Moment) -> bool:
        """Tell whether nothing is asked any more, and pods are deleted."""
        return now.boottime_s >= self.forced_s

    def grace_s(self, now: Moment) -> int:
        """Return the seconds that a pod may still have, at least 1: 0 would not wait for it."""
        return max(1, int(self.deadline.left_s(now) - MARGIN_S))


def window_of(standings: Iterable[Standing], reserve_s: float, now: Moment) -> Window | None:
    """Return the time until the first deadline that is still to come; None where all have passed.

    Args:
        standings: The notices for which the node is drained.
        reserve_s: Seconds at the end that are the pods' to end in; at most a third of the whole.
        now: Both clocks.
    """
    windows = [_one(standing, reserve_s) for standing in standings]
    ahead = [window for window in windows if window.deadline.left_s(now) > 0]
    return min(ahead, key=lambda window: window.deadline.boottime_s, default=None)


def _one(standing: Standing, reserve_s: float) -> Window:
    notice = standing.notice
    begins = notice.received
    if standing.acts_from is not None and standing.acts_from.boottime_s > begins.boottime_s:
        begins = standing.acts_from
    deadline = standing.counts_until
    if notice.deadline is None and deadline.boottime_s < begins.boottime_s + GUESS_LEAST_S:
        deadline = Deadline.after(begins, GUESS_LEAST_S)
    whole_s = deadline.boottime_s - begins.boottime_s
    most_s = max(whole_s / 3, min(_LEAST_RESERVE_S, whole_s / 2))
    return Window(
        begins_s=begins.boottime_s,
        forced_s=deadline.boottime_s - min(reserve_s, most_s),
        deadline=deadline,
    )
