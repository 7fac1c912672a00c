"""Which request a fault happens to, and which descriptions of one are refused."""

from http import HTTPStatus

import pytest

from tests.support.simulated_aws import TurnedClock
from watcher.simulator.faults import MOST_FAULTS, Fault, FaultKind, Faults, parse_fault
from watcher.simulator.scenario import ScenarioError


@pytest.fixture
def faults(clock: TurnedClock) -> Faults:
    return Faults(clock.scenario)


def test_fault_happens_count_times_when_counted(faults: Faults) -> None:
    """Only requests under its path are counted."""
    fault = Fault(kind=FaultKind.HANG, path_prefix="/latest/meta-data/", count=2)
    faults.add(fault)
    paths = [
        "/latest/meta-data/a",
        "/latest/api/token",
        "/latest/meta-data/b",
        "/latest/meta-data/",
    ]
    assert [faults.take(path) for path in paths] == [fault, None, fault, None]


def test_fault_ends_when_its_seconds_are_over(faults: Faults, clock: TurnedClock) -> None:
    """It happens to every request until then."""
    fault = Fault(kind=FaultKind.RESET, for_s=30)
    faults.add(fault)
    clock.turn(29.9)
    assert faults.take("/latest/x") is fault
    clock.turn(0.1)
    assert faults.take("/latest/x") is None


def test_fault_stays_when_it_has_no_end(faults: Faults, clock: TurnedClock) -> None:
    """Until it is lifted."""
    fault = Fault(kind=FaultKind.HTML)
    faults.add(fault)
    clock.turn(100_000)
    assert faults.take("/latest/x") is fault
    faults.clear()
    assert faults.take("/latest/x") is None


def test_oldest_fault_happens_first_when_several_fit(faults: Faults) -> None:
    """A script of faults is played in the order in which it was posted."""
    first, second = Fault(kind=FaultKind.HANG, count=1), Fault(kind=FaultKind.RESET, count=1)
    faults.add(first)
    faults.add(second)
    assert [faults.take("/latest/x") for _ in range(3)] == [first, second, None]


def test_fault_is_refused_when_too_many_are_in_force(faults: Faults, clock: TurnedClock) -> None:
    """Those that are spent don't count."""
    for _ in range(MOST_FAULTS):
        faults.add(Fault(kind=FaultKind.HANG, for_s=1))
    with pytest.raises(ScenarioError, match="lift them"):
        faults.add(Fault(kind=FaultKind.HANG))
    clock.turn(1)
    faults.add(Fault(kind=FaultKind.HANG))


def test_parse_fault_fills_in_the_rest_when_only_the_kind_is_given() -> None:
    """Every path of the cloud, until lifted, at once."""
    assert parse_fault({"kind": "status"}) == Fault(
        kind=FaultKind.STATUS,
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        path_prefix="/latest/",
        count=None,
        for_s=None,
        delay_s=0,
    )


def test_parse_fault_takes_every_field_when_all_are_given() -> None:
    """No field is dropped on the way."""
    fields = {
        "kind": "status",
        "status": 429,
        "path_prefix": "/latest/api/",
        "count": 3,
        "for_s": 9,
        "delay_s": 0.5,
    }
    assert parse_fault(fields) == Fault(
        kind=FaultKind.STATUS,
        status=HTTPStatus.TOO_MANY_REQUESTS,
        path_prefix="/latest/api/",
        count=3,
        for_s=9,
        delay_s=0.5,
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "kind must be one of"),
        ({"kind": "explode"}, "'explode'"),
        ({"kind": []}, "kind must be one of"),
        ({"kind": "status", "status": 200}, "4xx or 5xx"),
        ({"kind": "status", "status": 999}, "999"),
        ({"kind": "status", "status": "503"}, "'503'"),
        ({"kind": "status", "status": []}, "4xx or 5xx"),
        ({"kind": "hang", "status": 503}, "not with hang"),
        ({"kind": "hang", "path_prefix": "latest"}, "slash"),
        ({"kind": "hang", "path_prefix": 1}, "slash"),
        ({"kind": "hang", "count": 0}, "count"),
        ({"kind": "hang", "count": 1.5}, "count"),
        ({"kind": "hang", "count": True}, "count"),
        ({"kind": "hang", "count": None}, "count"),
        ({"kind": "hang", "for_s": -1}, "for_s"),
        ({"kind": "hang", "delay_s": "1"}, "delay_s"),
        ({"kind": "slow"}, "needs delay_s"),
    ],
)
def test_parse_fault_gives_the_reason_when_it_refuses(
    fields: dict[str, object], reason: str
) -> None:
    """A mistyped fault must not become another fault, or none."""
    with pytest.raises(ScenarioError, match=reason):
        parse_fault(fields)
