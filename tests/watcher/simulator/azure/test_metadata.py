"""Azure's metadata service, as its documentation has it, on a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from tests.support.simulated_aws import TurnedClock
from tests.support.simulated_azure import (
    EVENTS,
    HEADERS,
    NAME,
    AzureSimulator,
    simulated_azure,
)
from watcher.simulator.azure.scenario import AzureScenario

COMPUTE = "/metadata/instance/compute"


@pytest.fixture
async def azure(clock: TurnedClock) -> AsyncIterator[AzureSimulator]:
    """Run a machine without events."""
    async with simulated_azure(clock, AzureScenario()) as client:
        yield client


async def test_document_is_empty_when_nothing_is_scheduled(azure: AzureSimulator) -> None:
    """The first incarnation, and a list."""
    assert await azure.document() == {"DocumentIncarnation": 1, "Events": []}


@pytest.mark.parametrize("path", [EVENTS, NAME, "/metadata/instance/nothing"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Metadata": "false"}, {"Metadata": ""}, {**HEADERS, "X-Forwarded-For": "10.0.0.1"}],
)
async def test_request_is_bad_when_it_may_have_been_redirected(
    azure: AzureSimulator, path: str, headers: dict[str, str]
) -> None:
    """The header shows that the client means this service; a proxy shows itself."""
    answer = await azure.ask("GET", path, headers)
    assert answer.status == 400
    assert "error" in json.loads(answer.body)
    assert (await azure.post(b"{}", {"X-Forwarded-For": "10.0.0.1"})).status == 400


async def test_header_is_understood_when_in_other_letters(azure: AzureSimulator) -> None:
    """Names of headers have no case, and people write True."""
    assert (await azure.ask("GET", EVENTS, {"metadata": "True"})).status == 200


@pytest.mark.parametrize("version", ["", "?api-version=", "?api-version=latest", "?api-version=1"])
async def test_request_is_bad_when_it_names_no_version(azure: AzureSimulator, version: str) -> None:
    """The answer says which there are."""
    for path in ("/metadata/scheduledevents", COMPUTE):
        answer = await azure.ask("GET", path + version, HEADERS)
        assert answer.status == 400
        assert len(json.loads(answer.body)["newest-versions"]) == 3


@pytest.mark.parametrize("version", ["2020-07-01", "2019-08-01", "2017-11-01"])
async def test_document_is_given_in_every_version(azure: AzureSimulator, version: str) -> None:
    """Older clients get it too."""
    path = f"/metadata/scheduledevents?api-version={version}"
    assert (await azure.ask("GET", path, HEADERS)).status == 200


async def test_machine_says_who_it_is_when_asked(azure: AzureSimulator) -> None:
    """As text item by item, or all as JSON."""
    assert (await azure.ask("GET", NAME, HEADERS)).body == "gpu-vmss_3"
    answer = await azure.ask("GET", f"{COMPUTE}?api-version=2021-02-01", HEADERS)
    compute = json.loads(answer.body)
    assert (compute["name"], compute["vmScaleSetName"]) == ("gpu-vmss_3", "gpu-vmss")
    assert (await azure.ask("GET", NAME.partition("&")[0], HEADERS)).status == 400


@pytest.mark.parametrize(
    "path", [f"{COMPUTE}/nothing", "/metadata/scheduledEvent", "/latest/meta-data/instance-id"]
)
async def test_path_is_not_found_when_there_is_none(azure: AzureSimulator, path: str) -> None:
    """Another cloud's path is no answer either."""
    answer = await azure.ask("GET", f"{path}?api-version=2021-02-01&format=text", HEADERS)
    assert answer.status == 404


async def test_event_starts_when_it_is_approved(azure: AzureSimulator) -> None:
    """For every machine that it names; the case of the id does not matter, nor once more."""
    await azure.control("POST", "event", {"event_id": "E-1", "resources": ["a", "gpu-vmss_3"]})
    assert await azure.approve("e-1") == 200
    [event] = await azure.events()
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")
    assert await azure.approve("E-1") == 200
    assert (await azure.document())["DocumentIncarnation"] == 3


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{}", b"[]", b"x", b'{"StartRequests": []}', b'{"StartRequests": [{}]}'),
        *(b'{"StartRequests": ["E-1"]}', b'{"StartRequests": [{"EventId": "E-2"}]}'),
    ],
)
async def test_approval_is_bad_when_it_names_no_event(azure: AzureSimulator, body: bytes) -> None:
    """And nothing starts."""
    await azure.control("POST", "event", {"event_id": "E-1"})
    assert (await azure.post(body)).status == 400
    [event] = await azure.events()
    assert event["EventStatus"] == "Scheduled"


async def test_first_answer_is_held_back_when_events_are_off(clock: TurnedClock) -> None:
    """Who leaves earlier has switched nothing on; the name is answered meanwhile."""
    async with simulated_azure(clock, AzureScenario(first_answer_s=0.3)) as azure:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await azure.document()
        asked = asyncio.create_task(azure.document())
        assert (await azure.ask("GET", NAME, HEADERS)).status == 200
        assert not asked.done()
        await asked
        machine = [(entry["method"], entry["status"]) for entry in await azure.requests()]
        assert machine == [("GET", None), ("GET", 200), ("GET", 200)]


async def test_answer_is_held_back_again_when_nobody_asked_for_a_day(clock: TurnedClock) -> None:
    """Azure switches events off then."""
    async with simulated_azure(clock, AzureScenario(first_answer_s=0.3)) as azure:
        await azure.document()
        clock.turn(86_399)
        await azure.document()
        clock.turn(86_400)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await azure.document()


async def test_requests_are_remembered_with_what_lets_them_in(azure: AzureSimulator) -> None:
    """For a test that wants to know."""
    await azure.document()
    [entry] = await azure.requests()
    assert f"{entry['path']}?{entry['query']}" == EVENTS
    assert isinstance(entry["headers"], dict)
    assert entry["headers"]["Metadata"] == "true"
