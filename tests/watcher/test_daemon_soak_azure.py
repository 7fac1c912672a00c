"""The daemon through 50,000 polls of Azure's events and 200 of them, with every fault at random."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.hurried_daemon import HurriedDaemon
from tests.support.soak import Course, Soak, any_of
from tests.support.watcher_process import daemon_process
from tests.support.weather import Weather, seeded
from watcher.simulator.azure.scenario import AzureScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import FaultKind
from watcher.simulator.server import make_app, serving
from watcher.sources.azure_session import EVENTS_PATH

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(3600)]

RENAMING = (FaultKind.UNKNOWN_ACTION,)
"""The same event with a type that nobody has heard of is another notice; the true one then comes
back. That is meant, and would be counted twice."""


def event(kind: str, number: int) -> Course:
    """Return an event of this machine that disappears; each has another id."""
    event_id = f"{number:08X}-0000-0000-0000-000000000000"
    said: dict[str, object] = {"event_id": event_id}
    begin = ("event", {**said, "type": kind})
    return Course(begin, ("event_end", said), RENAMING, is_corrected=True)


async def test_nothing_grows_and_no_event_is_lost_in_50000_polls(
    run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each event is acted on and taken back once; tasks, descriptors, threads, memory stay."""
    hurried = HurriedDaemon(tmp_path / "hurried")
    polls: Counter[str] = Counter()
    app = make_app(AzureScenario(), ScenarioClock(), lambda one: polls.update([one.path]))

    def say(line: str) -> None:
        with capsys.disabled():
            print(line)  # noqa: T201 - minutes pass without it

    async with (
        serving(app, "127.0.0.1", 0) as url,
        daemon_process(run_dir, url, "--cloud=azure", **hurried.environment()) as watcher,
    ):
        await watcher.answers("/readyz", 200)
        chance = seeded()
        weather = Weather(url, chance, (EVENTS_PATH.partition("?")[0],))
        kinds = ("Preempt", "Terminate", "Reboot", "Redeploy", "Freeze")
        courses = [lambda number, kind=kind: event(kind, number) for kind in kinds]
        await Soak(watcher, weather, polls, any_of(chance, *courses)).through(hurried, say)
