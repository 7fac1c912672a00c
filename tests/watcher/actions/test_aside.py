"""News that is queued, told in order, tried again, and waited for by nobody."""

import logging

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.standings import in_force
from tests.support.telling import Scripted, kept
from watcher.actions import aside
from watcher.actions.aside import LEAST_TRY_S, LONGEST_TRY_S, QUEUE_LIMIT, Aside
from watcher.errors import ActionRefused, ActionRetryable
from watcher.metrics import Metrics


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once; how long a pause is, is nobody's promise."""
    monkeypatch.setattr(aside, "FIRST_PAUSE_S", 0.0)


@pytest.fixture
def teller() -> Scripted:
    """Return one that succeeds."""
    return Scripted()


@pytest.fixture
def told(teller: Scripted, metrics: Metrics, clock: TurnedClock) -> Aside:
    """Return the action, which tells nothing unless it is kept."""
    return Aside("webhook", teller, metrics, clock)


def count(metrics: Metrics, outcome: str) -> float:
    """Tell how often telling has come to this."""
    labels = {"action": "webhook", "outcome": outcome}
    return metrics.registry.get_sample_value("reprieve_news_total", labels) or 0.0


async def test_news_is_told_once_in_force_and_once_withdrawn_when_asked_often(
    told: Aside, teller: Scripted, metrics: Metrics
) -> None:
    """A correction of a deadline is no news; the notice put in force anew is."""
    notice = in_force()
    async with kept(told):
        assert await told.run(notice) == "queued for the test"
        assert await told.run(notice) == "was queued before"
        assert await told.undo(notice) == "queued for the test"
        assert await told.undo(notice) == "nobody was told of it"
        await told.run(notice)
        await eventually(lambda: count(metrics, "told") == 3)
    assert teller.heard == ["in_force spot-1", "withdrawn spot-1", "in_force spot-1"]


async def test_news_is_told_in_order_when_the_first_has_to_be_tried_again(
    told: Aside, teller: Scripted, metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    """A withdrawal never overtakes what it takes back; the log has the first failure only."""
    caplog.set_level(logging.INFO, "watcher.actions.aside")
    teller.fails_with += [ActionRetryable("busy"), ActionRetryable("busy")]
    async with kept(told):
        await told.run(in_force())
        await told.undo(in_force())
        await eventually(lambda: count(metrics, "told") == 2)
    assert teller.heard == ["in_force spot-1"] * 3 + ["withdrawn spot-1"]
    assert count(metrics, "retrying") == 2
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split()[:4] for line in lines] == [
        ["news", "retrying", "action=webhook", "state=in_force"],
        ["news", "told", "action=webhook", "state=in_force"],
        ["news", "told", "action=webhook", "state=withdrawn"],
    ]
    assert "notice_id=spot-1" in lines[0]


@pytest.mark.parametrize(
    ("left_s", "tried_for_s"), [(120, 120.0), (1, LEAST_TRY_S), (86_400, LONGEST_TRY_S)]
)
async def test_news_is_given_up_when_the_deadline_has_passed(
    told: Aside,
    teller: Scripted,
    clock: TurnedClock,
    left_s: float,
    tried_for_s: float,
) -> None:
    """Not before, not much too early, and not days later."""
    metrics = told._metrics
    await told.run(in_force(left_s=left_s))
    teller.fails_with += [ActionRetryable("busy"), ActionRetryable("busy")]
    clock.turn(tried_for_s - 1)
    async with kept(told):
        await eventually(lambda: count(metrics, "told") == 1)
        await told.run(in_force("spot-2", left_s=left_s + tried_for_s - 1))
        clock.turn(tried_for_s + 1)
        teller.fails_with += [ActionRetryable("busy")]
        await eventually(lambda: count(metrics, "given_up") == 1)
    assert teller.heard[-1] == "in_force spot-2"


async def test_news_is_given_up_at_once_when_the_server_wants_to_rest_for_longer(
    told: Aside, teller: Scripted, metrics: Metrics
) -> None:
    """What waits behind it is told meanwhile."""
    teller.fails_with += [ActionRetryable("busy", after_s=3600)]
    async with kept(told):
        await told.run(in_force())
        await told.run(in_force("spot-2"))
        await eventually(lambda: count(metrics, "told") == 1)
    assert (count(metrics, "given_up"), count(metrics, "retrying")) == (1, 0)


async def test_news_is_told_on_when_one_was_refused_or_met_a_bug(
    told: Aside, teller: Scripted, metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    """What is optional never ends the daemon; the log says where the bug is, not its words."""
    teller.fails_with += [ActionRefused("no"), ZeroDivisionError("canary-5e")]
    async with kept(told):
        for name in ("a", "b", "c"):
            await told.run(in_force(name))
        await eventually(lambda: count(metrics, "told") == 1)
    assert count(metrics, "refused") == 2
    assert "a bug: ZeroDivisionError at" in caplog.text
    assert "canary-5e" not in caplog.text


async def test_oldest_news_is_dropped_and_counted_when_nothing_gets_through(
    told: Aside, teller: Scripted, metrics: Metrics
) -> None:
    """200 notices, and what waits is as little as ever; the newest are told in the end."""
    teller.may_go.clear()
    async with kept(told):
        await told.run(in_force("first"))
        await eventually(lambda: teller.heard)
        for number in range(200):
            await told.run(in_force(f"n{number}"))
        assert count(metrics, "dropped") == 200 - QUEUE_LIMIT
        teller.may_go.set()
        await eventually(lambda: count(metrics, "told") == 1 + QUEUE_LIMIT)
    newest = [f"in_force n{number}" for number in range(200 - QUEUE_LIMIT, 200)]
    assert teller.heard == ["in_force first", *newest]


async def test_log_says_at_the_start_what_will_be_in_the_way(
    told: Aside, teller: Scripted, metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    """And it is tried all the same when the notice comes."""
    teller.is_unfit = True
    async with kept(told):
        await eventually(lambda: caplog.messages)
        await told.run(in_force())
        await eventually(lambda: count(metrics, "told") == 1)
    assert caplog.messages[0] == "no news can be told action=webhook why=it lacks its file"
