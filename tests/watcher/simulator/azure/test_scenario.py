"""Scenarios and flags of the Azure simulator: what they mean, and what is refused."""

import argparse
from pathlib import Path

import pytest

from watcher.simulator import command
from watcher.simulator.azure.changes import EventEnded, EventScheduled, EventSource
from watcher.simulator.azure.scenario import AzureScenario
from watcher.simulator.scenario_file import load_scenario
from watcher.simulator.values import ScenarioError


def scenario_of(*flags: str) -> AzureScenario:
    """Read flags as the command does."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser, "azure")
    scenario = command.scenario_of(parser.parse_args(flags), "azure")
    assert isinstance(scenario, AzureScenario)
    return scenario


def from_file(directory: Path, text: str) -> AzureScenario:
    """Read a scenario file."""
    file = directory / "a.toml"
    file.write_text('cloud = "azure"\n' + text)
    scenario = load_scenario(file)
    assert isinstance(scenario, AzureScenario)
    return scenario


def test_nothing_happens_when_no_flag_is_given() -> None:
    """A machine without events that answers at once."""
    assert scenario_of() == AzureScenario()


def test_flags_announce_an_event_when_given() -> None:
    """The least notice of its type, unless a window is named."""
    scenario = scenario_of("--notice-after=1", "--type=Redeploy", "--withdraw-after=9")
    announced, ended = scenario.changes
    assert isinstance(announced, EventScheduled)
    assert (announced.at_s, announced.event_type, announced.not_before_s) == (1, "Redeploy", 600)
    assert isinstance(ended, EventEnded)
    assert (ended.at_s, ended.event_id) == (9, announced.event_id)
    [other] = scenario_of("--notice-after=1", "--window=7").changes
    assert isinstance(other, EventScheduled)
    assert (other.event_type, other.not_before_s) == ("Preempt", 7)


def test_flags_win_over_the_file_when_both_name_the_machine(tmp_path: Path) -> None:
    """A scenario can be played for another machine."""
    file = tmp_path / "a.toml"
    file.write_text('cloud = "azure"\ninstance = {name = "a", first_answer_s = 90}')
    assert scenario_of(f"--scenario={file}") == AzureScenario(vm_name="a", first_answer_s=90)
    flags = (f"--scenario={file}", "--vm-name=b", "--first-answer=5")
    assert scenario_of(*flags) == AzureScenario(vm_name="b", first_answer_s=5)


def test_file_says_all_of_an_event_when_it_wants(tmp_path: Path) -> None:
    """Every field of the vocabulary."""
    scenario = from_file(
        tmp_path,
        """
        [[changes]]
        at_s = 5
        change = "event"
        event_id = "E-1"
        type = "Reboot"
        resources = ["a", "b"]
        not_before_s = 60
        lasts_s = 30
        source = "User"
        description = "asked for"
        duration_s = 9
        """,
    )
    assert scenario.changes == (
        EventScheduled(
            at_s=5,
            event_id="E-1",
            event_type="Reboot",
            resources=("a", "b"),
            not_before_s=60,
            lasts_s=30,
            source=EventSource.USER,
            description="asked for",
            duration_s=9,
        ),
    )


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ("--window=5", "--notice-after"),
        ("--type=Freeze", "--notice-after"),
        ("--notice-after=-1", "--notice-after must be 0 to"),
        ("--notice-after=1 --window=-1", "--window must be 0 to"),
        ("--withdraw-after=5", "none to start or to end"),
        ("--notice-after=10 --withdraw-after=5", "none to start or to end"),
        ("--first-answer=-1", "--first-answer must be 0 to"),
        ("--vm-name=", "--vm-name must be printable"),
    ],
)
def test_flags_are_refused_when_they_make_no_sense(flags: str, reason: str) -> None:
    """In one line that names the flag or the change."""
    with pytest.raises(ScenarioError, match=reason):
        scenario_of(*flags.split())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("instance = {vm_name = 'a'}", "unknown key of instance 'vm_name'"),
        ("instance = {first_answer_s = -1}", "first_answer_s must be 0 to"),
        ("changes = [{at_s = 1, change = 'event', type = ''}]", "type must be printable"),
        ("changes = [{at_s = 1, change = 'event', resources = 'a'}]", "resources must be a list"),
        ("changes = [{at_s = 1, change = 'event', resources = ['']}]", "a resource must be"),
        ("changes = [{at_s = 1, change = 'event', source = 'Me'}]", "source must be one of"),
        (
            "changes = [{at_s = 1, change = 'event', duration_s = -2}]",
            "a whole number from -1 to 86400",
        ),
        ("changes = [{at_s = 1, change = 'event', duration_s = 1.5}]", "must be a whole number"),
        ("changes = [{at_s = 1, change = 'event', duration_s = true}]", "must be a whole number"),
        ("changes = [{at_s = 1, change = 'event', description = 5}]", "description must be"),
        ("changes = [{at_s = 1, change = 'event', lasts_s = -1}]", "lasts_s must be 0 to"),
        ("changes = [{at_s = 1, change = 'event_start'}]", "none to start or to end"),
        ("changes = [{at_s = 1, change = 'notice'}]", "unknown change 'notice'"),
    ],
)
def test_file_is_refused_when_it_makes_no_sense(tmp_path: Path, text: str, reason: str) -> None:
    """Likewise."""
    with pytest.raises(ScenarioError, match=reason):
        from_file(tmp_path, text)
