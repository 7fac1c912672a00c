"""Google's library behind its one door: real credentials, a real transport, an API on loopback."""

import asyncio
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support.gcp_bodies import RECEIVED, said
from tests.support.scripted_google import TOKEN, ScriptedGoogle
from watcher.errors import ConfigError, GcpCallFailed
from watcher.gcp.library import ComputeLibrary, Operation, require_library
from watcher.sources.gcp_instance import read_instance

ZONE = "europe-west1-b"
INSTANCES = f"/compute/v1/projects/my-proj/zones/{ZONE}/instances"
OPERATIONS = f"/compute/v1/projects/my-proj/zones/{ZONE}/operations"
VMS: dict[str, object] = {"kind": "compute#instanceList"}
ACTS: dict[str, object] = {"kind": "compute#operationList"}
SINCE = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)

T = TypeVar("T")


@pytest.fixture
def library(
    google: ScriptedGoogle, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[ComputeLibrary]:
    """A library that finds its credentials at the metadata server, as on a VM."""
    host = google.url.removeprefix("http://")
    monkeypatch.setenv("GCE_METADATA_IP", host)
    # The variable GCE_METADATA_HOST, which is read once in a process.
    monkeypatch.setattr("google.auth.compute_engine._metadata._GCE_METADATA_HOST", host)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with closing(ComputeLibrary("my-proj", google.url)) as made:
        yield made


async def asked(call: Callable[[], T]) -> T:
    """Make a call where it may block."""
    return await asyncio.to_thread(call)


def operation(**changes: str) -> dict[str, str]:
    """Build an operation as the API has it, with some of it changed."""
    return {
        "name": "systemevent-1764497100000-abc",
        "operationType": "compute.instances.preempted",
        "targetId": "1234567890123456789",
        "targetLink": f"https://www.googleapis.com/compute/v1/projects/my-proj/zones/{ZONE}/instances/node-1",
        "insertTime": "2026-11-30T02:05:00.123-08:00",
        "status": "DONE",
        "user": "system",
    } | changes


async def test_instances_are_as_the_api_says_them_when_the_library_has_read_them(
    google: ScriptedGoogle, library: ComputeLibrary
) -> None:
    """So that one parser serves the VM, which asks without the library, and the fleet."""
    names = ("instance-flex-start", "instance-spot")
    google.play(
        INSTANCES,
        (200, VMS | {"items": [said(names[0])], "nextPageToken": "more"}),
        (200, VMS | {"items": [said(names[1])]}),
    )
    found = await asked(lambda: library.instances(ZONE, "cluster=a"))
    assert [read_instance(one, RECEIVED, None) for one in found] == [
        read_instance(said(name), RECEIVED, None) for name in names
    ]
    first, second = google.of(INSTANCES)
    assert (first.authorization, "filter=labels.cluster%3Da" in first.path) == (
        "Bearer token-1",
        True,
    )
    assert "pageToken=more" in second.path


@pytest.mark.parametrize(
    ("label", "query"), [(None, ""), ("cluster", "labels.cluster%3A%2A"), ("a=b", "labels.a%3Db")]
)
async def test_instances_are_narrowed_when_there_is_a_label(
    google: ScriptedGoogle, library: ComputeLibrary, label: str | None, query: str
) -> None:
    """With any value or with one."""
    google.play(INSTANCES, (200, VMS))
    assert await asked(lambda: library.instances(ZONE, label)) == []
    assert query in google.of(INSTANCES)[0].path


async def test_preemptions_match_exactly_when_google_sends_more(
    google: ScriptedGoogle, library: ComputeLibrary
) -> None:
    """Its own filters contain rather than equal in places, and it may list what is long over."""
    items = [
        operation(insertTime="2026-11-30T01:59:59.000-08:00", name="old"),
        operation(),
        operation(operationType="compute.instances.preemptedX", name="other"),
        operation(operationType="delete", name="user's"),
        operation(insertTime="soon", name="odd", targetId="7"),
    ]
    google.play(OPERATIONS, (200, ACTS | {"items": items}))
    found = await asked(lambda: library.preemptions(ZONE, SINCE))
    assert found == [
        Operation(one["name"], one["targetId"], one["targetLink"], one["insertTime"])
        for one in (items[1], items[4])
    ]
    query = google.of(OPERATIONS)[0].path
    assert "filter=operationType%3D%22compute.instances.preempted%22" in query


async def test_operation_of_nothing_is_left_out_when_it_has_no_target(
    google: ScriptedGoogle, library: ComputeLibrary
) -> None:
    """Nobody can be told."""
    without = operation()
    del without["targetId"]
    google.play(OPERATIONS, (200, ACTS | {"items": [without]}))
    assert await asked(lambda: library.preemptions(ZONE, SINCE)) == []


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ((403, {"error": {"code": 403, "message": "Required 'x' permission"}}), "forbidden"),
        ((404, {"error": {"code": 404}}), "not_found"),
        ((429, {"error": {"code": 429}}), "throttled"),
        ((503, "busy"), "throttled"),
        ((500, {}), "refused"),
        ((400, {"error": "text"}), "malformed"),
        ((200, "<html></html>"), "malformed"),
        ((200, "[]"), "malformed"),
        ((200, {}), "malformed"),
        ((200, {"kind": "compute#diskList"}), "malformed"),
        ((200, {"items": {"a": 1}}), "malformed"),
    ],
)
@pytest.mark.parametrize("path", [INSTANCES, OPERATIONS])
async def test_fleet_is_unknown_when_the_api_does_not_tell_it(
    google: ScriptedGoogle,
    library: ComputeLibrary,
    path: str,
    answer: tuple[int, object],
    outcome: str,
) -> None:
    """In one printable line; nothing is tried again behind our back."""
    google.play(path, answer)
    calls: dict[str, Callable[[], object]] = {
        INSTANCES: lambda: library.instances(ZONE, None),
        OPERATIONS: lambda: library.preemptions(ZONE, SINCE),
    }
    with pytest.raises(GcpCallFailed) as caught:
        await asked(calls[path])
    assert caught.value.outcome == outcome
    assert str(caught.value).isprintable()
    assert len(google.of(path)) == 1


async def test_fleet_is_unknown_when_there_are_no_credentials(
    google: ScriptedGoogle, library: ComputeLibrary
) -> None:
    """A VM without a service account."""
    google.play(TOKEN, (404, "none"))
    with pytest.raises(GcpCallFailed) as caught:
        await asked(lambda: library.instances(ZONE, None))
    assert caught.value.outcome == "credentials"


async def test_fleet_is_unknown_when_the_api_is_away(
    google: ScriptedGoogle, library: ComputeLibrary
) -> None:
    """Connection refused."""
    library._endpoint = "http://127.0.0.1:9"
    with pytest.raises(GcpCallFailed) as caught:
        await asked(lambda: library.instances(ZONE, None))
    assert caught.value.outcome in ("connection", "throttled")
    assert google.of(INSTANCES) == []


def test_extra_is_named_when_the_library_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without loading it where it is."""
    require_library("relay.gcp_zones")

    def nothing(name: str, package: str | None = None) -> Any:  # noqa: ANN401 - as it is typed
        raise ModuleNotFoundError(name, package)

    for find in (nothing, lambda _: None):
        monkeypatch.setattr(importlib.util, "find_spec", find)
        with pytest.raises(ConfigError, match=r"reprieve\[gcp\]"):
            require_library("relay.gcp_zones")
