"""The probes over HTTP."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.support.clocks import TurnedClock
from tests.support.described import check_described
from tests.support.served_faces import ServedFaces, served_faces
from watcher.errors import SourceUnavailable
from watcher.faces.probes import Probes
from watcher.health import SourceHealth
from watcher.metrics import Metrics


@pytest.fixture
def health(clock: TurnedClock, metrics: Metrics) -> SourceHealth:
    """A source with one key that has just started."""
    return SourceHealth("aws_imds", ("spot",), clock(), metrics)


@pytest.fixture
async def faces(
    health: SourceHealth, clock: TurnedClock, metrics: Metrics
) -> AsyncIterator[ServedFaces]:
    """The three probes, served."""
    probes = Probes((health,), metrics, 10.0, clock)
    routes = {"/healthz": probes.healthz, "/readyz": probes.readyz, "/metrics": probes.metrics}
    async with served_faces(routes) as faces:
        yield faces


def go_blind(health: SourceHealth, clock: TurnedClock) -> None:
    """Let a fetch fail."""
    error = SourceUnavailable("GET /spot: HTTP 403", outcome="forbidden")
    error.key = "spot"
    health.failed(error, clock())


async def test_ready_names_the_source_when_it_has_not_answered_yet(faces: ServedFaces) -> None:
    """A daemon that has just started does not claim to see."""
    status, body = await faces.ask("/readyz")
    assert status == 503
    check_described("Readiness", json.loads(body))
    assert json.loads(body)["unfit"] == [
        {
            "source": "aws_imds",
            "key": "spot",
            "blind_since": "2026-11-30T10:05:06Z",
            "blind_since_unix_s": 1796033106.0,
            "why": "has not answered yet",
        }
    ]


async def test_ready_turns_when_blindness_lasts_and_when_it_ends(
    faces: ServedFaces, health: SourceHealth, clock: TurnedClock
) -> None:
    """200 after the first answer and for ten blind seconds, then 503 with since and why."""
    health.answered("spot", "absent", clock(), took_s=0.001)
    assert (await faces.ask("/readyz"))[0] == 200
    clock.turn(60)
    go_blind(health, clock)
    clock.turn(10)
    assert (await faces.ask("/readyz"))[0] == 200
    clock.turn(1)
    status, body = await faces.ask("/readyz")
    assert status == 503
    unfit = json.loads(body)["unfit"][0]
    assert unfit["blind_since"] == "2026-11-30T10:06:06Z"
    assert unfit["why"] == "GET /spot: HTTP 403"
    health.answered("spot", "absent", clock(), took_s=0.001)
    assert (await faces.ask("/readyz"))[0] == 200


async def test_alive_stays_when_the_source_is_blind(
    faces: ServedFaces, health: SourceHealth, clock: TurnedClock
) -> None:
    """A liveness probe must not restart a daemon for the cloud's failures."""
    go_blind(health, clock)
    clock.turn(10_000)
    assert await faces.ask("/healthz") == (200, "ok\n")


async def test_metrics_are_prometheus_text_with_bounded_labels_when_scraped(
    faces: ServedFaces, health: SourceHealth, clock: TurnedClock
) -> None:
    """Every metric has a help text, and no label holds an id or a cloud's words."""
    go_blind(health, clock)
    status, body = await faces.ask("/metrics")
    assert status == 200
    assert 'reprieve_source_up{source="aws_imds"} 0.0' in body
    assert 'reprieve_source_fetches_total{outcome="forbidden",source="aws_imds"} 1.0' in body
    assert "reprieve_flag_written_timestamp_seconds 0.0" in body
    assert "HTTP 403" not in body
    names = {line.split()[2] for line in body.splitlines() if line.startswith("# TYPE")}
    helped = {line.split()[2] for line in body.splitlines() if line.startswith("# HELP")}
    assert names == helped
