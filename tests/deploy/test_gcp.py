"""The script asks gcloud for no more than it says, in order, and again without harm."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gcp_bodies import said
from watcher.sources.gcp_entry import METHODS

SCRIPT = Path(__file__).parents[2] / "deploy" / "gcp" / "setup.sh"
README = (SCRIPT.parent / "README.md").read_text()
MEMBER = "serviceAccount:relay@my-proj.iam.gserviceaccount.com"
WRITER = "serviceAccount:service-4711@gcp-sa-logging.iam.gserviceaccount.com"
NODE = "1234567890123456789"

pytestmark = pytest.mark.e2e  # each starts a shell

STUB = f"""#!{sys.executable}
import json, os, sys
arguments = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(arguments) + "\\n")
if "--format=value(writerIdentity)" in arguments:
    print({WRITER!r})
elif "describe" in arguments:
    sys.exit(0 if os.environ["IS_THERE"] else 1)
elif os.environ["REFUSED"] and os.environ["REFUSED"] in arguments:
    sys.exit("PERMISSION_DENIED")
"""


class Gcloud:
    """A gcloud that notes what it is asked for, and does nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stub = folder / "gcloud"
        stub.write_text(STUB)
        stub.chmod(0o755)

    def run(
        self, *arguments: str, is_there: bool = False, refused: str = ""
    ) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
        """Run the script; return how it ended, and the calls that change something."""
        calls = self.folder / "calls"
        calls.write_text("")
        ended = subprocess.run(
            ["bash", SCRIPT, *arguments],
            env={
                "PATH": f"{self.folder}:/usr/bin:/bin",
                "CALLS": str(calls),
                "IS_THERE": "yes" if is_there else "",
                "REFUSED": refused,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        made = [json.loads(line) for line in calls.read_text().splitlines()]
        return ended, [one for one in made if "describe" not in one]

    def changes(self, *arguments: str, is_there: bool = False) -> list[list[str]]:
        """Run the script, which has to succeed; return the calls without what all have."""
        ended, made = self.run(*arguments, "--project", "my-proj", is_there=is_there)
        assert ended.returncode == 0, ended.stderr
        assert all(one[-1] == "--quiet" for one in made)
        return [[word for word in one if word != "--quiet"] for one in made]


@pytest.fixture
def gcloud(tmp_path: Path) -> Gcloud:
    """A gcloud of the test's own."""
    return Gcloud(tmp_path)


def option(call: list[str], name: str) -> str:
    """Return the value of an option."""
    (found,) = (word for word in call if word.startswith(f"--{name}="))
    return found.partition("=")[2]


def test_log_is_sent_to_a_topic_that_only_its_sink_may_write_to(gcloud: Gcloud) -> None:
    """The topic first, or there would be a sink without a destination."""
    topic, sink, binding = gcloud.changes("log", "--name", "cluster-a")
    assert topic == ["pubsub", "topics", "create", "cluster-a", "--project=my-proj"]
    destination = "pubsub.googleapis.com/projects/my-proj/topics/cluster-a"
    assert sink[:5] == ["logging", "sinks", "create", "cluster-a", destination]
    assert binding[:4] == ["pubsub", "topics", "add-iam-policy-binding", "cluster-a"]
    assert (option(binding, "member"), option(binding, "role")) == (
        WRITER,
        "roles/pubsub.publisher",
    )


def test_filter_lets_through_what_is_understood_and_nothing_else(gcloud: Gcloud) -> None:
    """Each method exactly, and the other fields as the entries have them."""
    filtered = option(gcloud.changes("log")[1], "log-filter")
    methods = set(re.findall(r'"(compute\.instances\.[^"]*)"', filtered))
    assert methods == set(METHODS)
    for name in ("entry-preempted", "entry-terminated", "entry-migrated"):
        entry = said(name)
        assert f'logName="{entry["logName"]}"' in filtered
        assert f'resource.type="{entry["resource"]["type"]}"' in filtered
        assert f'protoPayload.serviceName="{entry["protoPayload"]["serviceName"]}"' in filtered
        assert entry["protoPayload"]["methodName"] in methods
    assert filtered.count(" OR ") == len(METHODS) - 1
    assert filtered.count(" AND ") == 3


def test_relay_may_read_its_subscription_and_list_vms_and_nothing_else(gcloud: Gcloud) -> None:
    """Three permissions in two roles, each where it is needed."""
    made = gcloud.changes("relay", "--member", MEMBER)
    subscription, reader, reading, relay, listing = made
    assert subscription[:4] == ["pubsub", "subscriptions", "create", "reprieve-relay"]
    assert option(subscription, "topic") == "reprieve"
    assert option(subscription, "expiration-period") == "never"
    assert option(reader, "permissions") == "pubsub.subscriptions.consume"
    assert reading[:4] == ["pubsub", "subscriptions", "add-iam-policy-binding", "reprieve-relay"]
    assert option(relay, "permissions") == "compute.instances.list,compute.zoneOperations.list"
    assert listing[:3] == ["projects", "add-iam-policy-binding", "my-proj"]
    assert option(listing, "role") == "projects/my-proj/roles/reprieve_relay"
    assert option(listing, "condition") == "None"
    assert {option(one, "member") for one in (reading, listing)} == {MEMBER}


def test_nodes_may_look_at_instances_and_nothing_else(gcloud: Gcloud) -> None:
    """Compute Engine can't narrow it to the own one."""
    role, binding = gcloud.changes("nodes", "--member", MEMBER)
    assert role[:4] == ["iam", "roles", "create", "reprieve_node"]
    assert option(role, "permissions") == "compute.instances.get"
    assert option(binding, "role") == "projects/my-proj/roles/reprieve_node"


def test_node_has_a_subscription_that_goes_by_itself(gcloud: Gcloud) -> None:
    """Nobody has to sweep up after VMs that were preempted."""
    subscription, _, reading = gcloud.changes("node", NODE, "--member", MEMBER)
    name = f"reprieve-node-{NODE}"
    assert subscription[:4] == ["pubsub", "subscriptions", "create", name]
    assert option(subscription, "expiration-period") == "24h"
    assert option(subscription, "message-retention-duration") == "10m"
    assert reading[3] == name


def test_nothing_is_made_anew_when_it_is_there(gcloud: Gcloud) -> None:
    """It is set right; a subscription's topic can't be changed, and is not."""
    every = [
        *gcloud.changes("log", is_there=True),
        *gcloud.changes("relay", "--member", MEMBER, is_there=True),
        *gcloud.changes("nodes", "--member", MEMBER, is_there=True),
        *gcloud.changes("node", NODE, "--member", MEMBER, is_there=True),
    ]
    assert not [one for one in every if "create" in one]
    updates = [one for one in every if "update" in one]
    assert len(updates) == 7
    assert not [one for one in updates if one[0] == "pubsub" and "--topic=reprieve" in one]


def test_subscription_is_deleted_only_when_it_is_there(gcloud: Gcloud) -> None:
    """It may have expired."""
    assert gcloud.changes("forget", NODE) == []
    (deleted,) = gcloud.changes("forget", NODE, is_there=True)
    assert deleted[:4] == ["pubsub", "subscriptions", "delete", f"reprieve-node-{NODE}"]


def test_script_ends_where_gcloud_refuses(gcloud: Gcloud) -> None:
    """With gcloud's own words, and nothing after it."""
    ended, made = gcloud.run("log", "--project", "my-proj", refused="sinks")
    assert ended.returncode != 0
    assert "PERMISSION_DENIED" in ended.stderr
    assert [one[:2] for one in made] == [["pubsub", "topics"], ["logging", "sinks"]]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "--project is missing"),
        (["log"], "--project is missing"),
        (["--project", "p"], "no such command"),
        (["logs", "--project", "p"], "no such command: logs"),
        (["log", "7", "--project", "p"], "one word too many"),
        (["node", "7", "8", "--project", "p"], "one word too many"),
        (["log", "--project"], "--project needs a value"),
        (["log", "--project", "p", "--name", "A b"], "--name"),
        (["log", "--project", "p", "--force"], "unknown option --force"),
        (["relay", "--project", "p"], "--member"),
        (["relay", "--project", "p", "--member", "allUsers"], "--member"),
        (["node", "--project", "p", "--member", MEMBER], "INSTANCE_ID"),
        (["node", "node-1", "--project", "p", "--member", MEMBER], "INSTANCE_ID"),
    ],
)
def test_script_does_nothing_when_it_is_called_wrongly(
    gcloud: Gcloud, arguments: list[str], why: str
) -> None:
    """It says what is wrong, with the status for that."""
    ended, made = gcloud.run(*arguments)
    assert (ended.returncode, made) == (64, [])
    assert why in ended.stderr


def test_changes_are_only_shown_when_the_run_is_dry(gcloud: Gcloud) -> None:
    """As commands that a shell would read as the script means them."""
    ended, made = gcloud.run("log", "--project", "my-proj", "--dry-run")
    assert (ended.returncode, made) == (0, [])
    shown = [shlex.split(line) for line in ended.stdout.replace("$'", "'").splitlines()]
    assert [line[:3] for line in shown] == [
        ["gcloud", "pubsub", "topics"],
        ["gcloud", "logging", "sinks"],
        ["gcloud", "pubsub", "topics"],
    ]


def test_readme_names_every_permission_that_is_given() -> None:
    """People have to be able to agree to it."""
    script = SCRIPT.read_text()
    given = set(re.findall(r"\b(?:compute|pubsub)\.[a-zA-Z]+\.(?:get|list|consume)\b", script))
    assert given
    for permission in given | {"roles/pubsub.publisher"}:
        assert f"`{permission}`" in README


@pytest.mark.timeout(300)
def test_every_command_is_one_of_gclouds_when_gcloud_reads_it(gcloud: Gcloud) -> None:
    """By the linter in the Google Cloud CLI itself, where that is installed; without a network."""
    real = shutil.which("gcloud")
    if real is None:
        pytest.skip("the Google Cloud CLI is not installed")
    commands = {
        shlex.join(["gcloud", *call])
        for is_there in (False, True)
        for arguments in (
            ("log",),
            ("relay", "--member", MEMBER),
            ("nodes", "--member", MEMBER),
            ("node", NODE, "--member", MEMBER),
            ("forget", NODE),
        )
        for call in gcloud.changes(*arguments, is_there=is_there)
    }
    wrong = "gcloud pubsub topics create reprieve --no-such-option"
    file = gcloud.folder / "commands.json"
    file.write_text(json.dumps([{"command_string": one} for one in (*sorted(commands), wrong)]))
    linted = subprocess.run(
        [real, "meta", "lint-gcloud-commands", f"--commands-file={file}"],
        env={"PATH": "/usr/bin:/bin", "CLOUDSDK_CONFIG": str(gcloud.folder / "config")},
        capture_output=True,
        text=True,
        check=True,
    )
    verdicts = json.loads(linted.stdout)
    refused = {
        one["command_string"]: one["error_message"] for one in verdicts if not one["success"]
    }
    assert len(verdicts) == len(commands) + 1
    assert list(refused) == [wrong], refused
