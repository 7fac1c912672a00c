"""The pace of polls, on a clock the test makes up."""

import pytest

from watcher.sources.pace import SLOWEST_S, Pace


def test_pace_is_due_at_once_when_nothing_was_fetched() -> None:
    """The first poll does not wait for a tick."""
    assert Pace(1.0).due_at == 0.0


def test_pace_keeps_to_the_grid_when_answers_take_a_while() -> None:
    """A hundred polls of 0.3 s each end where a hundred instant ones would: no drift."""
    pace = Pace(1.0)
    pace.fetched(100.0)
    for tick in range(1, 101):
        assert pace.due_at == 100.0 + tick
        pace.fetched(pace.due_at + 0.3)


def test_pace_fetches_once_at_once_when_an_answer_took_several_ticks() -> None:
    """Ticks that were missed are dropped, not queued."""
    pace = Pace(1.0)
    pace.fetched(100.0)
    pace.fetched(104.5)
    assert pace.due_at == 104.0
    pace.fetched(104.6)
    assert pace.due_at == 105.0


@pytest.mark.parametrize("jitter", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("every_s", [1.0, 5.0])
def test_pace_slows_down_within_bounds_when_throttled(every_s: float, jitter: float) -> None:
    """Waits grow, and are never shorter than the tick nor longer than five seconds."""
    pace = Pace(every_s, jitter=lambda: jitter)
    now, waits = 100.0, []
    for _ in range(8):
        pace.throttled(now)
        waits.append(round(pace.due_at - now, 6))
        now = pace.due_at
    assert waits == sorted(waits)
    assert min(waits) >= every_s
    assert max(waits) == SLOWEST_S


def test_pace_spreads_nodes_when_throttled() -> None:
    """Two nodes hit by the same outage do not come back at the same instant."""
    early, late = Pace(1.0, jitter=lambda: 0.1), Pace(1.0, jitter=lambda: 0.9)
    for pace in (early, late):
        pace.throttled(100.0)
    assert early.due_at < late.due_at


def test_pace_returns_to_a_tick_when_throttling_ends() -> None:
    """One answer that is not a throttling one ends the back-off."""
    pace = Pace(1.0, jitter=lambda: 0.7)
    pace.fetched(100.0)
    for _ in range(5):
        pace.throttled(pace.due_at)
    now = pace.due_at
    pace.fetched(now)
    assert pace.due_at == now + 1.0
    pace.throttled(now)
    assert pace.due_at < now + SLOWEST_S
