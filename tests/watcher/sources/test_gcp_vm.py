"""What is learnt of the VM, and what is not believed."""

import pytest

from tests.support.clocks import START
from tests.support.following_gcp import said
from watcher.errors import SourceMalformed
from watcher.gcp.metadata import ID, NAME, ZONE
from watcher.sources.gcp_vm import (
    HOST_MAINTENANCE,
    MACHINE_TYPE,
    PATHS,
    PREEMPTIBLE,
    Fact,
    GcpVm,
)
from watcher.sources.gcp_windows import event_window_s

BODIES = {
    ID: b"1234567890123456789",
    PREEMPTIBLE: b"TRUE\n",
    MACHINE_TYPE: b"projects/123456789012/machineTypes/a3-highgpu-8g",
    HOST_MAINTENANCE: b"TERMINATE",
    NAME: b"node-1",
    ZONE: b"projects/123456789012/zones/europe-west4-b",
}


def test_vm_knows_what_it_has_learnt() -> None:
    """In the cloud's words, by the last part of each path."""
    facts: dict[str, str] = {}
    vm = GcpVm(facts)
    assert (vm.id, vm.is_preemptible, vm.machine_type, vm.does_migrate) == (None, None, None, False)
    for path in PATHS:
        Fact(path, vm.learn).answered(said(BODIES[path].decode()), START)
    assert facts == {
        "id": "1234567890123456789",
        "preemptible": "TRUE",
        "machine-type": "a3-highgpu-8g",
        "on-host-maintenance": "TERMINATE",
        "name": "node-1",
        "zone": "europe-west4-b",
    }
    assert (vm.id, vm.is_preemptible, vm.does_migrate) == ("1234567890123456789", True, False)


def test_vm_keeps_the_first_id_when_another_is_said() -> None:
    """Or an old notice would become a new one."""
    vm = GcpVm({})
    vm.learn(ID, b"1")
    vm.learn(ID, b"2")
    assert vm.id == "1"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"a" * 300, b"projects/1/zones/"])
def test_fact_is_refused_when_it_is_no_such_thing(path: str, body: bytes) -> None:
    """It is asked for again, and nothing is learnt."""
    facts: dict[str, str] = {}
    with pytest.raises(SourceMalformed):
        GcpVm(facts).learn(path, body)
    assert facts == {}


def test_fact_is_refused_when_it_is_not_there() -> None:
    """Every VM has it."""
    with pytest.raises(SourceMalformed, match="404"):
        Fact(ID, GcpVm({}).learn).answered(said("", status=404), START)


@pytest.mark.parametrize(
    ("machine_type", "window_s"),
    [
        *[(name, 3600) for name in ("a2-highgpu-1g", "a3-megagpu-8g", "a4-highgpu-8g")],
        *[(name, 3600) for name in ("a4x-highgpu-4g", "g2-standard-96", "g4-standard-384")],
        *[(name, 60) for name in ("n1-standard-8", "c3-highcpu-8", "ct5lp-hightpu-4t", "g1-x")[:3]],
        (None, 60),
    ],
)
def test_event_window_is_an_hour_when_the_machine_type_has_gpus(
    machine_type: str | None, window_s: float
) -> None:
    """An N1 with GPUs can't be told from one without."""
    assert event_window_s(machine_type) == window_s
