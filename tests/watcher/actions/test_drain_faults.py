"""A drain whose API server fails in every way there is: done after all, and nothing done twice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.faults import Garbage, Trouble, What
from tests.fakes.kube.kinds import POD
from tests.fakes.kube.refusals import (
    busy,
    conflict,
    expired,
    forbidden,
    internal,
    not_found,
    timed_out,
)
from tests.support.clocks import TurnedClock
from tests.support.draining import Draining, draining
from tests.support.own_node import NODE
from watcher.actions import drain_calls
from watcher.errors import ActionRetryable

WEB = {"app": "web"}

FAULTS: dict[str, What] = {
    "403": forbidden(),
    "404": not_found(POD, "web"),
    "409": conflict(POD, "web"),
    "410": expired(2, 217),
    "429": busy(),
    "500": internal("etcd"),
    "504": timed_out(),
    "hang": Trouble.HANG,
    "reset": Trouble.RESET,
    "lost": Trouble.LOST,
    "html": Garbage(b"<html>"),
    "list": Garbage(b"[]"),
    "null": Garbage(b'{"kind":"PodList","metadata":null,"items":null}'),
    "deep": Garbage(b"[" * 100_000),
    "302": Garbage(b"", status=302),
}


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain whose calls are given up soon."""
    async with draining(tmp_path, clock, limit_s=0.2) as at:
        at.cluster.add_pod("web", NODE, labels=WEB)
        yield at


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", [("get", "nodes"), ("list", "pods")])
async def test_drain_is_done_after_all_when_nothing_could_be_read(
    at: Draining, call: tuple[str, str], fault: str
) -> None:
    """Unknown is not drained: it says what is wrong until that has passed."""
    spot = at.notice()
    at.server.faults.add(FAULTS[fault], verb=call[0], resource=call[1])
    for _ in range(2):
        with pytest.raises(ActionRetryable):
            await at.ask(spot)
        at.clock.turn(1)
    assert at.calls() == []
    at.server.faults.lift()
    assert await at.go_on(spot, 60)
    assert [verb for verb, _, _ in at.asked()] == ["evict"]


@pytest.mark.parametrize("fault", FAULTS)
async def test_pod_is_asked_again_when_its_eviction_has_failed(at: Draining, fault: str) -> None:
    """Once, if that was not lost: each look begins from the pods as they are."""
    spot = at.notice()
    at.server.faults.add(FAULTS[fault], resource="pods/eviction", times=1)
    try:
        assert not await at.ask(spot)
    except ActionRetryable:
        assert fault not in ("403", "404", "409", "429")
    at.server.faults.lift()
    at.clock.turn(1)
    assert await at.go_on(spot, 60)
    assert [verb for verb, _, _ in at.asked()] == ["evict"]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", [("patch", "pods/status"), ("delete", "pods")])
async def test_pod_is_deleted_before_the_deadline_when_a_call_has_failed(
    at: Draining, call: tuple[str, str], fault: str
) -> None:
    """What marks it as disrupted is tried once; the delete again in the next round."""
    at.cluster.add_budget("web", WEB, allowed=0)
    spot = at.notice(left_s=30)
    assert not await at.go_on(spot, 20)
    at.server.faults.add(FAULTS[fault], verb=call[0], resource=call[1], times=1)
    try:
        await at.ask(spot)
    except ActionRetryable:
        assert call[0] == "delete"
    at.server.faults.lift()
    at.clock.turn(1)
    assert await at.go_on(spot, 9)
    deletes = [grace_s for verb, _, grace_s in at.asked() if verb == "delete"]
    # A DELETE whose connection is lost is sent again by aiohttp, as it means the same once more.
    assert deletes in ([8], [9], [9, 9] if fault == "lost" else [])


async def test_pod_is_deleted_at_once_when_what_marks_it_hangs(
    tmp_path: Path, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow API server may need all of an attempt for what matters."""
    monkeypatch.setattr(drain_calls, "MARK_LIMIT_S", 0.02)
    async with draining(tmp_path, clock, limit_s=30) as at:
        at.cluster.add_pod("web", NODE, labels=WEB)
        at.cluster.add_budget("web", WEB, allowed=0)
        spot = at.notice(left_s=30)
        assert not await at.go_on(spot, 20)
        at.server.faults.add(Trouble.HANG, resource="pods/status")
        assert not await at.ask(spot)
        assert at.asked() == [("delete", "web", 9)]


async def test_drain_goes_on_when_the_server_was_away(at: Draining) -> None:
    """Connections are refused, and those that were open are gone."""
    spot = at.notice()
    await at.server.away()
    with pytest.raises(ActionRetryable, match="Cannot connect"):
        await at.ask(spot)
    at.clock.turn(1)
    await at.server.back()
    assert await at.go_on(spot, 60)


async def test_drain_goes_on_when_the_token_was_rotated(at: Draining) -> None:
    """With the new one as soon as it is in the file, and with none before."""
    spot = at.notice()
    at.server.access.rotate(ADMIN, "tomorrow")
    with pytest.raises(ActionRetryable, match="401"):
        await at.ask(spot)
    at.clock.turn(1)
    (at.run_dir / "token").write_text("tomorrow")
    assert await at.go_on(spot, 60)
    assert [verb for verb, _, _ in at.asked()] == ["evict"]


async def test_odd_pod_hides_no_other_when_it_makes_no_sense(
    at: Draining, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named once in the log, and can only be left alone."""
    odd = at.cluster.add_pod("odd", NODE)
    odd["spec"]["terminationGracePeriodSeconds"] = "a while"
    at.server.store.replace(POD, odd)
    at.cluster.add_pod("other", NODE)
    assert await at.go_on(at.notice(), 60)
    assert sorted(name for _, name, _ in at.asked()) == ["other", "web"]
    assert caplog.text.count("pods not understood count=1") == 1
