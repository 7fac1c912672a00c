"""`simulate gcp`: the flags, and the process that they start."""

import argparse
import asyncio
import sys

import aiohttp
import pytest

from watcher.simulator import command
from watcher.simulator.gcp.changes import MaintenanceEventSet, PreemptedSet
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.scenario import GcpScenario


def parsed(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="reprieve-watcher simulate gcp")
    parser.set_defaults(simulated="gcp")
    command.add_arguments(parser, "gcp")
    return parser.parse_args(flags)


def test_flags_make_a_scenario_when_all_are_given() -> None:
    """Each flag ends up where it belongs."""
    flags = (
        "--preempted-after=10 --event-after=5 --event=MIGRATE_ON_HOST_MAINTENANCE "
        "--event-over-after=20 --machine-type=n1-standard-8 --on-demand"
    )
    assert command.scenario_of(parsed(*flags.split()), "gcp") == GcpScenario(
        changes=(
            PreemptedSet(at_s=10, value="TRUE"),
            MaintenanceEventSet(at_s=5, value="MIGRATE_ON_HOST_MAINTENANCE"),
            MaintenanceEventSet(at_s=20, value="NONE"),
        ),
        identity=Identity(machine_type="n1-standard-8", is_preemptible=False),
    )


def test_flags_make_an_uneventful_scenario_when_none_is_given() -> None:
    """Never a notice unless asked for."""
    assert command.scenario_of(parsed(), "gcp") == GcpScenario()


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ("--preempted-after=-1", "--preempted-after must be 0 to"),
        ("--event-after=nan", "--event-after must be 0 to"),
        ("--event=NONE", "describe the event of --event-after"),
        ("--event-over-after=5", "describe the event of --event-after"),
        ("--event-after=1 --event=", "--event must be printable"),
        ("--machine-type=", "--machine-type must be printable"),
        ("--scenario=a.toml --preempted-after=1", "--scenario says what happens"),
    ],
)
def test_run_refuses_in_one_line_when_the_flags_are_nonsense(
    flags: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 78, the reason on stderr, nothing on stdout."""
    assert command.run(parsed(*flags.split())) == 78
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith("reprieve-watcher: simulate gcp: ")
    assert reason in printed.err


def test_help_teaches_the_pair_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """A reader of --help can start the watcher against the simulator."""
    with pytest.raises(SystemExit) as ended:
        parsed("--help")
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "reprieve-watcher run --cloud gcp --metadata-endpoint http://127.0.0.1:1338" in shown
    assert "expire_tokens" not in shown


@pytest.mark.e2e
async def test_process_answers_who_waits_when_its_scenario_comes_to_it() -> None:
    """By itself, without another request in between."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "watcher", "simulate", "gcp"),
        *("--port=0", "--preempted-after=1", "--quiet"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    try:
        async with asyncio.timeout(30), aiohttp.ClientSession() as session:
            url = (await process.stdout.readline()).decode().split()[-1]
            path = f"{url}/computeMetadata/v1/instance/preempted"
            asked = {"Metadata-Flavor": "Google"}
            async with session.get(path, headers=asked) as first:
                known, seen = first.headers["ETag"], await first.text()
            query = {"wait_for_change": "true", "last_etag": known}
            async with session.get(path, headers=asked, params=query) as changed:
                assert [seen, await changed.text()] == ["FALSE", "TRUE"]
    finally:
        process.terminate()
        assert await process.wait() == 0
