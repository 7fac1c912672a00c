"""A scenario of Compute Engine's, read from a file."""

from pathlib import Path

import pytest

from watcher.simulator.gcp.changes import Nothing, PreemptedSet
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.scenario_file import load_scenario
from watcher.simulator.values import ScenarioError

TOML = """
cloud = "gcp"

[instance]
id = 42
name = "gpu-7"
project_id = "trainers"
project_number = 99
zone = "us-central1-a"
machine_type = "n1-standard-8"
preemptible = false
on_host_maintenance = "MIGRATE"
no_upcoming_maintenance = "missing"
cloud_ahead_s = -5

[[changes]]
at_s = 10
change = "preempted"
"""


def test_file_becomes_a_scenario_with_every_key(tmp_path: Path) -> None:
    """Nothing is dropped on the way."""
    file = tmp_path / "a.toml"
    file.write_text(TOML)
    assert load_scenario(file) == GcpScenario(
        identity=Identity(
            id=42,
            name="gpu-7",
            project_id="trainers",
            project_number=99,
            zone="us-central1-a",
            machine_type="n1-standard-8",
            is_preemptible=False,
            on_host_maintenance="MIGRATE",
        ),
        nothing=Nothing.MISSING,
        cloud_ahead_s=-5,
        changes=(PreemptedSet(at_s=10, value="TRUE"),),
    )


def test_file_is_uneventful_when_it_names_only_the_cloud(tmp_path: Path) -> None:
    """A Spot VM with GPUs that nothing threatens."""
    file = tmp_path / "a.toml"
    file.write_text('cloud = "gcp"')
    assert load_scenario(file, "gcp") == GcpScenario()


@pytest.mark.parametrize(
    ("instance", "reason"),
    [
        ("life_cycle = 'spot'", "unknown key of instance 'life_cycle'"),
        ("id = 'node-1'", "id must be a whole number from 1 to 18446744073709551615"),
        ("id = 18446744073709551616", "id must be a whole number"),
        ("name = ''", "name must be printable"),
        ("preemptible = 'TRUE'", "preemptible must be true or false"),
        ("no_upcoming_maintenance = 'nope'", "no_upcoming_maintenance must be one of empty"),
    ],
)
def test_file_is_refused_when_its_instance_makes_no_sense(
    instance: str, reason: str, tmp_path: Path
) -> None:
    """With the key and what it should have been."""
    file = tmp_path / "a.toml"
    file.write_text(f'cloud = "gcp"\n[instance]\n{instance}\n')
    with pytest.raises(ScenarioError, match=reason):
        load_scenario(file)
