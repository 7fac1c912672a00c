"""The daemon through 50,000 polls of EC2's metadata and 200 notices, with every fault at random."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.hurried_daemon import HurriedDaemon
from tests.support.soak import Course, Soak, any_of
from tests.support.watcher_process import daemon_process
from tests.support.weather import Weather, seeded
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import FaultKind
from watcher.simulator.server import make_app, serving

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(3600)]

META_DATA = "/latest/meta-data/"
ABSENCES = (
    META_DATA + "spot/instance-action",
    META_DATA + "spot/termination-time",
    META_DATA + "autoscaling/target-lifecycle-state",
    "/latest/api/token",
)

RENAMING = (FaultKind.UNKNOWN_ACTION, FaultKind.NO_TIME, FaultKind.BAD_TIME)
"""Another action makes another notice of a Spot notice, and so does another time when the first has
passed; the true one then comes back. That is meant, and would be counted twice."""


def spot(number: int) -> Course:
    """Return a Spot notice; each has another time."""
    return Course(("notice", {"window_s": 0, "ago_s": number}), ("withdraw", {}), RENAMING)


def scale_in(_: int) -> Course:
    """Return a scale-in that is taken back."""
    return Course(("asg", {"target_state": "Terminated"}), ("asg", {"target_state": "InService"}))


def maintenance(number: int) -> Course:
    """Return an event; each has another id."""
    event = {"event_id": f"instance-event-{number:017x}"}
    begin = {**event, "code": "system-reboot", "not_before_s": 60}
    return Course(("maintenance", begin), ("maintenance_end", {**event, "state": "completed"}))


async def test_nothing_grows_and_no_notice_is_lost_in_50000_polls(
    run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each notice is acted on and taken back once; tasks, descriptors, threads, memory stay."""
    hurried = HurriedDaemon(tmp_path / "hurried")
    polls: Counter[str] = Counter()
    app = make_app(AwsScenario(), ScenarioClock(), lambda one: polls.update([one.path]))

    def say(line: str) -> None:
        with capsys.disabled():
            print(line)  # noqa: T201 - minutes pass without it

    async with (
        serving(app, "127.0.0.1", 0) as url,
        daemon_process(run_dir, url, **hurried.environment()) as watcher,
    ):
        await watcher.answers("/readyz", 200)
        chance = seeded()
        weather = Weather(url, chance, ABSENCES, own=("expire_tokens",))
        courses = any_of(chance, scale_in, maintenance, spot)
        await Soak(watcher, weather, polls, courses).through(hurried, say)
