"""Which request a fault happens to."""

import pytest

from tests.support.simulated_aws import TurnedClock
from watcher.simulator.faults import MOST_FAULTS, Fault, FaultKind, Faults
from watcher.simulator.values import ScenarioError


@pytest.fixture
def faults(clock: TurnedClock) -> Faults:
    return Faults(clock.scenario, "/latest/")


def test_fault_happens_count_times_when_counted(faults: Faults) -> None:
    """Only requests under its path are counted."""
    fault = Fault(kind=FaultKind.HANG, path_prefix="/latest/meta-data/", count=2)
    faults.add(fault, 0)
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
    faults.add(fault, 0)
    clock.turn(29.9)
    assert faults.take("/latest/x") is fault
    clock.turn(0.1)
    assert faults.take("/latest/x") is None


def test_fault_stays_when_it_has_no_end(faults: Faults, clock: TurnedClock) -> None:
    """Until it is lifted."""
    fault = Fault(kind=FaultKind.HTML)
    faults.add(fault, 0)
    clock.turn(100_000)
    assert faults.take("/latest/x") is fault
    faults.clear()
    assert faults.take("/latest/x") is None


def test_oldest_fault_happens_first_when_several_fit(faults: Faults) -> None:
    """A script of faults is played in the order in which it was posted."""
    first, second = Fault(kind=FaultKind.HANG, count=1), Fault(kind=FaultKind.RESET, count=1)
    faults.add(first, 0)
    faults.add(second, 0)
    assert [faults.take("/latest/x") for _ in range(3)] == [first, second, None]


def test_fault_ends_by_its_own_moment_when_noticed_late(faults: Faults, clock: TurnedClock) -> None:
    """A scenario's fault that nobody has asked about meanwhile is over all the same."""
    clock.turn(40)
    faults.add(Fault(kind=FaultKind.RESET, for_s=30), 5)
    assert faults.take("/latest/x") is None


def test_fault_is_refused_when_too_many_are_in_force(faults: Faults, clock: TurnedClock) -> None:
    """Those that are spent don't count."""
    for _ in range(MOST_FAULTS):
        faults.refuse(1)
        faults.add(Fault(kind=FaultKind.HANG, for_s=1), 0)
    with pytest.raises(ScenarioError, match="lift those"):
        faults.refuse(1)
    clock.turn(1)
    faults.refuse(MOST_FAULTS)
    with pytest.raises(ScenarioError, match="lift those"):
        faults.refuse(MOST_FAULTS + 1)
