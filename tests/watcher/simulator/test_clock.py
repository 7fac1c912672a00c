"""The scenario's clock."""

from datetime import UTC, datetime

from tests.support.simulated_aws import TurnedClock


def test_clock_counts_from_zero_when_started_late(clock: TurnedClock) -> None:
    """What passed between construction and readiness is no part of the scenario."""
    clock.turn(7)
    clock.scenario.start()
    clock.turn(2)
    assert clock.scenario.elapsed_s() == 2


def test_clock_tells_past_wall_time_when_wall_clock_was_set(clock: TurnedClock) -> None:
    """A moment just past is told by the wall clock as it is now, so that readers agree with it."""
    clock.wall_s = datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp()
    clock.monotonic_s += 30
    assert clock.scenario.wall_time_at(20) == datetime(2026, 11, 30, 11, 59, 50, tzinfo=UTC)
