"""What is known of a source's sight, key by key."""

import pytest

from tests.support.clocks import TurnedClock
from watcher.errors import SourceError, SourceUnavailable
from watcher.health import SourceHealth
from watcher.metrics import Metrics

LIMIT_S = 10.0


def failure(key: str, why: str = "HTTP 500") -> SourceError:
    """Build a failed fetch of this key."""
    error = SourceUnavailable(why, outcome="server_error")
    error.key = key
    return error


@pytest.fixture
def health(clock: TurnedClock, metrics: Metrics) -> SourceHealth:
    """A source with two keys that has just started."""
    return SourceHealth("aws_imds", ("spot", "rebalance"), clock(), metrics)


def test_source_is_unfit_when_a_key_has_never_answered(
    health: SourceHealth, clock: TurnedClock
) -> None:
    """Ready means that every key has been seen once, however short the time."""
    assert set(health.unfit(clock(), LIMIT_S)) == {"spot", "rebalance"}
    health.answered("spot", "absent", clock(), took_s=0.001)
    assert set(health.unfit(clock(), LIMIT_S)) == {"rebalance"}
    health.answered("rebalance", "absent", clock(), took_s=0.001)
    assert health.unfit(clock(), LIMIT_S) == {}


def test_source_is_unfit_only_when_blind_for_longer_than_the_limit(
    health: SourceHealth, clock: TurnedClock
) -> None:
    """One failed poll is no alarm; ten seconds of them are, counted from the first."""
    for key in health.keys:
        health.answered(key, "absent", clock(), took_s=0.001)
    clock.turn(1)
    health.failed(failure("spot"), clock())
    first = clock()
    clock.turn(LIMIT_S)
    health.failed(failure("spot", "HTTP 403"), clock())
    assert health.unfit(clock(), LIMIT_S) == {}
    clock.turn(0.1)
    assert health.unfit(clock(), LIMIT_S)["spot"].blind_since == first
    assert health.unfit(clock(), LIMIT_S)["spot"].why == "HTTP 403"


def test_source_keeps_its_last_answer_when_it_goes_blind(
    health: SourceHealth, clock: TurnedClock
) -> None:
    """Unknown does not overwrite what was known."""
    health.answered("spot", "present", clock(), took_s=0.001)
    health.failed(failure("spot"), clock())
    assert health.keys["spot"].last_answer == "present"


def test_source_is_news_when_its_sight_changes(health: SourceHealth, clock: TurnedClock) -> None:
    """One log line when it goes blind, when the reason changes, and when it sees again."""
    assert health.failed(failure("spot"), clock())
    assert not health.failed(failure("spot"), clock())
    assert health.failed(failure("spot", "HTTP 403"), clock())
    assert health.answered("spot", "absent", clock(), took_s=0.001)
    assert not health.answered("spot", "present", clock(), took_s=0.001)


def test_metrics_show_the_sight_when_it_changes(
    health: SourceHealth, clock: TurnedClock, metrics: Metrics
) -> None:
    """Up is 1 only while both keys are seen; the blind timestamp is that of the longest."""

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, {"source": "aws_imds", **labels})

    assert value("reprieve_source_up") == 0
    started = clock().wall.timestamp()
    assert value("reprieve_source_blind_since_timestamp_seconds") == started
    clock.turn(3)
    for key in health.keys:
        health.answered(key, "absent", clock(), took_s=0.001)
    assert value("reprieve_source_up") == 1
    assert value("reprieve_source_blind_since_timestamp_seconds") == 0
    assert value("reprieve_source_last_answer_timestamp_seconds") == started + 3
    clock.turn(1)
    health.failed(failure("rebalance"), clock())
    clock.turn(1)
    health.failed(failure("spot"), clock())
    assert value("reprieve_source_up") == 0
    assert value("reprieve_source_blind_since_timestamp_seconds") == started + 4
    assert value("reprieve_source_fetches_total", outcome="absent") == 2
    assert value("reprieve_source_fetches_total", outcome="server_error") == 2
