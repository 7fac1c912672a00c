"""The flags, and the process that they start."""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from watcher.simulator import command
from watcher.simulator.aws.changes import (
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    SpotAction,
)
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.aws.vocabulary import WORDS


def parsed(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="reprieve-watcher simulate aws")
    parser.set_defaults(simulated="aws")
    command.add_arguments(parser, "aws")
    return parser.parse_args(flags)


def scenario_of(*flags: str) -> AwsScenario:
    scenario = command.scenario_of(parsed(*flags), "aws")
    assert isinstance(scenario, AwsScenario)
    return scenario


def test_flags_make_a_scenario_when_all_are_given() -> None:
    """Each flag ends up where it belongs."""
    flags = (
        "--notice-after=10 --window=30 --action=stop --rebalance-after=5 --withdraw-after=20 "
        "--instance-id=i-0feed --token-ttl-cap=60"
    )
    assert scenario_of(*flags.split()) == AwsScenario(
        changes=(
            NoticeIssued(at_s=10, action=SpotAction.STOP, window_s=30),
            RebalanceRecommended(at_s=5),
            NoticeWithdrawn(at_s=20),
        ),
        instance_id="i-0feed",
        token_ttl_cap_s=60,
    )


def test_flags_make_an_uneventful_scenario_when_none_is_given() -> None:
    """Never a notice unless asked for."""
    assert scenario_of() == AwsScenario()


@pytest.mark.parametrize(
    ("flags", "window_s"),
    [([], 120), (["--action=stop"], 120), (["--action=hibernate"], 0), (["--window=7"], 7)],
)
def test_window_is_the_clouds_when_not_given(flags: Sequence[str], window_s: float) -> None:
    """Two minutes, or nothing when hibernating."""
    [issued] = scenario_of("--notice-after=1", *flags).changes
    assert isinstance(issued, NoticeIssued)
    assert issued.window_s == window_s


def test_flags_of_the_instance_win_over_the_file(tmp_path: Path) -> None:
    """A scenario can be played for another instance."""
    file = tmp_path / "a.toml"
    file.write_text('instance = {id = "i-0a", hops = 2}\nchanges = [{at_s = 1, change = "notice"}]')
    from_file = scenario_of(f"--scenario={file}")
    assert (from_file.instance_id, from_file.hops, len(from_file.changes)) == ("i-0a", 2, 1)
    flags = (f"--scenario={file}", "--instance-id=i-0b", "--token-ttl-cap=9")
    assert scenario_of(*flags) == replace(from_file, instance_id="i-0b", token_ttl_cap_s=9)


def test_check_says_what_is_in_the_file_and_serves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line and exit status 0, or one line and 78."""
    file = tmp_path / "a.toml"
    file.write_text('changes = [{at_s = 7.5, change = "notice"}, {at_s = 1, change = "rebalance"}]')
    assert command.run(parsed(f"--check={file}")) == 0
    assert capsys.readouterr().out == f"{file} is in order: 2 changes in 7.5 s\n"
    file.write_text('changes = [{at_s = 7.5, change = "notcie"}]')
    assert command.run(parsed(f"--check={file}")) == 78
    assert capsys.readouterr().err.endswith(
        f"{file}: change 1 (notcie): unknown change 'notcie'; the nearest known one is notice; "
        f"known: {', '.join(WORDS)}\n"
    )


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ("--notice-after=-1", "--notice-after must be 0 to"),
        ("--notice-after=1 --window=-1", "--window must be 0 to"),
        ("--notice-after=nan", "--notice-after must be 0 to"),
        ("--rebalance-after=-1", "--rebalance-after must be 0 to"),
        ("--withdraw-after=inf", "--withdraw-after must be 0 to"),
        ("--withdraw-after=5", "none to withdraw"),
        ("--notice-after=10 --withdraw-after=5", "none to withdraw"),
        ("--window=30", "--notice-after"),
        ("--action=stop", "--notice-after"),
        ("--token-ttl-cap=0", "--token-ttl-cap must be a whole number from 1 to 21600"),
        ("--instance-id=", "--instance-id must be printable text"),
        ("--port=65536", "--port"),
        ("--scenario=a.toml --notice-after=1", "--scenario says what happens"),
        ("--scenario=/nowhere/a.toml", "/nowhere/a.toml: No such file"),
        ("--check=/nowhere/a.toml", "/nowhere/a.toml: No such file"),
        ("--port=-1", "--port"),
    ],
)
def test_run_refuses_in_one_line_when_the_flags_are_nonsense(
    flags: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 78, the reason on stderr, nothing on stdout."""
    assert command.run(parsed(*flags.split())) == 78
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert reason in printed.err


def test_help_teaches_the_pair_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """A reader of --help can start the watcher against the simulator."""
    with pytest.raises(SystemExit) as ended:
        parsed("--help")
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "reprieve-watcher run --cloud aws --metadata-endpoint http://127.0.0.1:1338" in shown
    assert "expire_tokens" in shown
    assert not [
        line for line in shown.splitlines() if line.strip() in ("withdraw:", "lift_faults:")
    ]


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_process_serves_and_ends_with_0_when_told_to(
    number: signal.Signals, tmp_path: Path
) -> None:
    """It prints its URL at once, plays its flags, logs requests, and ends cleanly on each."""
    requests = tmp_path / "requests.jsonl"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "watcher", "simulate", "aws"),
        *("--port=0", "--notice-after=0", "--window=60", "--quiet"),
        f"--request-log={requests}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Output is buffered as it is for users, or a missing flush would not show.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    assert process.stdout
    try:
        async with asyncio.timeout(30):
            line = (await process.stdout.readline()).decode()
            assert line.startswith("simulator listening on http://127.0.0.1:")
            assert (await notice_at(line.split()[-1]))["action"] == "terminate"
            process.send_signal(number)
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, out, err) == (0, b"", b"")
    logged = [json.loads(line) for line in requests.read_text().splitlines()]
    assert [(entry["method"], entry["status"]) for entry in logged] == [("PUT", 200), ("GET", 200)]


@pytest.mark.e2e
def test_process_ends_with_78_when_the_address_is_not_its_own() -> None:
    """203.0.113.1 is documentation's and nobody's; the line says so without a traceback."""
    flags = ("--host=203.0.113.1", "--port=0")
    command_line = (sys.executable, "-m", "watcher", "simulate", "aws", *flags)
    ended = subprocess.run(command_line, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (78, "", 1)
    assert "203.0.113.1" in ended.stderr


async def notice_at(url: str) -> dict[str, str]:
    """Go through the token call to the notice, as a client of the cloud does."""
    ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    async with aiohttp.ClientSession() as session:
        async with session.put(url + "/latest/api/token", headers=ttl) as response:
            token = {"X-aws-ec2-metadata-token": await response.text()}
        path = url + "/latest/meta-data/spot/instance-action"
        async with session.get(path, headers=token) as response:
            notice: dict[str, str] = json.loads(await response.text())
            return notice
