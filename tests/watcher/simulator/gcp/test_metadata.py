"""The metadata server answers as Compute Engine's does; waits for a change are in test_waits."""

import json

import pytest

from tests.support.simulated_aws import TurnedClock
from tests.support.simulated_gcp import FLAVOR, PREFIX, GcpSimulator

PREEMPTED = "instance/preempted"
EVENT = "instance/maintenance-event"
UPCOMING = "instance/upcoming-maintenance"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (PREFIX + PREEMPTED, {}, 403),
        (PREFIX + PREEMPTED, {"Metadata-Flavor": "Amazon"}, 403),
        (PREFIX + PREEMPTED, FLAVOR | {"X-Forwarded-For": "10.0.0.1"}, 403),
        (PREFIX + PREEMPTED, FLAVOR, 200),
        (PREFIX + "instance/attributes/none", FLAVOR, 404),
        (PREFIX + "instance/scheduling", FLAVOR, 301),
        ("/", {}, 200),
        ("/latest/meta-data/instance-id", {}, 404),
        (PREFIX + PREEMPTED + "?timeout_sec=soon", FLAVOR, 400),
    ],
)
async def test_every_answer_is_signed_whatever_its_status(
    simulator: GcpSimulator, path: str, headers: dict[str, str], status: int
) -> None:
    """The header is the proof of who answers; who does not send it is not let in."""
    answer = await simulator.ask("GET", path, headers)
    assert answer.status == status
    assert answer.headers["metadata-flavor"] == "Google"


async def test_ec2s_token_call_is_a_404(simulator: GcpSimulator) -> None:
    """By which EC2's clients know that they are elsewhere."""
    ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    assert (await simulator.ask("PUT", "/latest/api/token", ttl)).status == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PREEMPTED, "FALSE"),
        (EVENT, "NONE"),
        (UPCOMING, "{}"),
        ("instance/id", "1234567890123456789"),
        ("instance/zone", "projects/123456789012/zones/europe-west4-b"),
        ("instance/machine-type", "projects/123456789012/machineTypes/a3-highgpu-8g"),
        ("instance/scheduling/preemptible", "TRUE"),
        ("instance/scheduling/on-host-maintenance", "TERMINATE"),
        ("project/project-id", "my-project"),
    ],
)
async def test_item_is_text_when_nothing_else_is_asked_for(
    simulator: GcpSimulator, path: str, body: str
) -> None:
    """In the cloud's own words, with an ETag."""
    answer = await simulator.item(path)
    assert (answer.status, answer.body) == (200, body)
    assert answer.headers["etag"]


async def test_directory_is_listed_with_a_slash_and_moved_without(simulator: GcpSimulator) -> None:
    """Children one a line; directories among them end in a slash."""
    assert (await simulator.item("instance/scheduling/")).body.split() == [
        *("automatic-restart", "on-host-maintenance", "preemptible")
    ]
    assert "service-accounts/" in (await simulator.item("instance/")).body.split()
    assert (await simulator.item("instance")).headers["location"] == PREFIX + "instance/"


async def test_document_has_camel_case_when_it_is_asked_for_recursively(
    simulator: GcpSimulator,
) -> None:
    """Paths are in kebab case and JSON is not, numbers are numbers."""
    answer = await simulator.item("instance/", recursive="true", alt="json")
    document = json.loads(answer.body)
    assert answer.content_type.startswith("application/json")
    assert document["maintenanceEvent"] == "NONE"
    assert document["preempted"] == "FALSE"
    assert document["id"] == 1234567890123456789
    assert document["scheduling"]["onHostMaintenance"] == "TERMINATE"
    assert document["upcomingMaintenance"] == {}
    assert (await simulator.item(PREEMPTED, alt="json")).body == '"FALSE"'


async def test_event_is_announced_when_the_key_itself_was_read(simulator: GcpSimulator) -> None:
    """Neither a directory with it in counts, nor a read before the last event's end."""
    await simulator.item("instance/", recursive="true")
    said = await simulator.control("POST", "maintenance_event")
    assert said["maintenance_event"] == "NONE"
    await simulator.item(EVENT)
    said = await simulator.control("POST", "maintenance_event")
    assert said["maintenance_event"] == "TERMINATE_ON_HOST_MAINTENANCE"
    await simulator.item(EVENT)
    await simulator.control("POST", "maintenance_event", {"value": "NONE"})
    said = await simulator.control("POST", "maintenance_event")
    assert said["maintenance_event"] == "NONE"


async def test_event_is_announced_once_more_when_the_wait_began_after_its_end(
    simulator: GcpSimulator,
) -> None:
    """A wait that was going on when the last event ended does not count, its successor does."""
    known = (await simulator.item(EVENT)).headers["etag"]
    await simulator.control("POST", "maintenance_event")
    known = (await simulator.item(EVENT)).headers["etag"]
    waiting = await simulator.waiting(EVENT, last_etag=known)
    await simulator.control("POST", "maintenance_event", {"value": "NONE"})
    known = (await waiting).headers["etag"]
    unheard = await simulator.control("POST", "maintenance_event")
    assert unheard["maintenance_event"] == "NONE"
    waiting = await simulator.waiting(EVENT, last_etag=known)
    await simulator.control("POST", "maintenance_event")
    assert (await waiting).body == "TERMINATE_ON_HOST_MAINTENANCE"


@pytest.mark.parametrize(
    ("said_as", "status", "body"),
    [
        ("empty", 200, "{}"),
        ("text", 200, "NONE"),
        ("json", 200, '"NONE"'),
        ("error", 503, '{"error":"no notifications have been received yet, try again later"}'),
    ],
)
async def test_no_maintenance_is_said_in_each_way_that_was_seen(
    simulator: GcpSimulator, said_as: str, status: int, body: str
) -> None:
    """After one was announced, too."""
    await simulator.control("POST", "upcoming_maintenance")
    await simulator.control("POST", "no_upcoming_maintenance", {"said_as": said_as})
    answer = await simulator.item(UPCOMING, alt="json")
    assert (answer.status, answer.body) == (status, body)


async def test_no_maintenance_is_a_404_when_the_machine_type_has_no_such_key(
    simulator: GcpSimulator,
) -> None:
    """Who waits for it is told so as well."""
    known = (await simulator.item(UPCOMING)).headers["etag"]
    waiting = await simulator.waiting(UPCOMING, last_etag=known)
    await simulator.control("POST", "no_upcoming_maintenance", {"said_as": "missing"})
    assert (await waiting).status == 404
    assert (await simulator.item(UPCOMING, wait_for_change="true")).status == 404


async def test_maintenance_is_announced_in_the_words_of_the_documentation(
    simulator: GcpSimulator, clock: TurnedClock
) -> None:
    """Times are reckoned from the announcement."""
    clock.turn(10)
    fields = {"start_s": 3600, "latest_start_s": 7200, "reasons": ["FAILURE_GPU"]}
    await simulator.control("POST", "upcoming_maintenance", fields)
    assert json.loads((await simulator.item(UPCOMING, alt="json")).body) == {
        "can_reschedule": "true",
        "latest_window_start_time": "2026-11-30T13:00:10Z",
        "maintenance_reasons": ["FAILURE_GPU"],
        "maintenance_status": "PENDING",
        "type": "SCHEDULED",
        "window_start_time": "2026-11-30T12:00:10Z",
        "window_end_time": "2026-11-30T16:00:10Z",
    }


async def test_maintenance_is_announced_as_the_api_spells_it_when_told_to(
    simulator: GcpSimulator,
) -> None:
    """And in a wrapper, which one page of the documentation has."""
    await simulator.control("POST", "upcoming_maintenance", {"style": "camel", "wrapped": True})
    document = json.loads((await simulator.item(UPCOMING, alt="json")).body)
    assert set(document["Upcoming maintenance"]) == {
        *("canReschedule", "maintenanceReasons", "maintenanceStatus", "type"),
        *("windowStartTime", "windowEndTime"),
    }


async def test_scripted_answer_is_signed_when_it_stands_in_for_a_true_one(
    simulator: GcpSimulator,
) -> None:
    """The script says what the item says, not who says it."""
    answers = [{"body": "PERHAPS"}]
    await simulator.control(
        "POST", "script", {"path_prefix": PREFIX + PREEMPTED, "answers": answers}
    )
    answer = await simulator.item(PREEMPTED)
    assert (answer.body, answer.headers["metadata-flavor"]) == ("PERHAPS", "Google")


async def test_fault_happens_to_every_path_of_the_cloud_when_it_names_none(
    simulator: GcpSimulator,
) -> None:
    """A stranger's answer is not signed."""
    await simulator.control("POST", "fault", {"kind": "html"})
    answer = await simulator.item("project/project-id")
    assert answer.status == 200
    assert "metadata-flavor" not in answer.headers
