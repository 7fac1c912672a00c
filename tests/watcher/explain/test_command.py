"""`explain` says what a body means, in JSON and with an exit status."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws_bodies import DATA, body, changed
from watcher.cli import main
from watcher.explain.bodies import BODIES
from watcher.explain.command import EXAMPLES

MINE = "i-0beef000000000001"
NOW = ("--now", "2026-11-30T10:05:08Z")


class Explain:
    """Runs the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Return the exit status and the object that was printed."""
        status = self.status(*arguments)
        return status, json.loads(self._capsys.readouterr().out)

    def complaint(self, *arguments: str) -> str:
        """Return what a mistake on the command line is answered with."""
        assert self.status(*arguments) == 78
        printed = self._capsys.readouterr()
        assert printed.out == ""
        return printed.err

    def status(self, *arguments: str) -> int:
        """Return the exit status."""
        with pytest.raises(SystemExit) as ended:
            main(["explain", *arguments])
        assert isinstance(ended.value.code, int)
        return ended.value.code


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    """Return the command."""
    return Explain(capsys)


def test_spot_answer_is_a_notice_when_explained(explain: Explain) -> None:
    """Everything that the flag file would say, and what the policy makes of it."""
    file = str(DATA / "imds" / "spot-terminate.json")
    status, answer = explain("aws-imds-spot", file, "--instance-id", MINE, *NOW)
    assert status == 0
    assert answer == {
        "notices": [
            {
                "id": f"aws-spot-terminate-2026-11-30T10:07:06Z-{MINE}",
                "kind": "preemption",
                "urgency": "stop",
                "source": "aws_imds",
                "instance_id": MINE,
                "action": "terminate",
                "received_at": "2026-11-30T10:05:08Z",
                "acts_from": "2026-11-30T10:05:08Z",
                "deadline": "2026-11-30T10:07:06Z",
                "counts_until": "2026-11-30T10:07:06Z",
                "left_s": 118.0,
                "detail": {"time": "2026-11-30T10:07:06Z"},
            }
        ]
    }


@pytest.mark.parametrize(
    ("source", "file", "kinds"),
    [
        ("aws-imds-rebalance", "imds/rebalance.json", ["rebalance"]),
        ("aws-imds-scheduled", "imds/scheduled-several.json", ["hardware", "maintenance"]),
        ("aws-imds-asg", "imds/asg-terminated.txt", ["termination"]),
        ("aws-sqs", "health-retirement-of-three.json", ["hardware"] * 3),
    ],
)
def test_body_is_notices_when_it_announces_something(
    explain: Explain, source: str, file: str, kinds: list[str]
) -> None:
    """One for each fact and addressee."""
    status, answer = explain(source, str(DATA / file))
    assert status == 0
    assert [notice["kind"] for notice in answer["notices"]] == kinds


@pytest.mark.parametrize(
    ("source", "file", "why"),
    [
        ("aws-imds-scheduled", "imds/scheduled-none.json", "no event"),
        ("aws-imds-asg", "imds/asg-in-service.txt", "group"),
        ("aws-sqs", "state-change-pending.json", "pending"),
    ],
)
def test_body_is_ignored_when_it_announces_nothing(
    explain: Explain, source: str, file: str, why: str
) -> None:
    """And that is a success: the answer was understood."""
    status, answer = explain(source, str(DATA / file))
    assert status == 0
    assert list(answer) == ["ignored"]
    assert why in answer["ignored"]


@pytest.mark.parametrize("source", BODIES)
def test_body_is_refused_when_it_is_somebody_elses(
    explain: Explain, source: str, tmp_path: Path
) -> None:
    """By each of the parsers; no file is too strange."""
    page = tmp_path / "page"
    page.write_bytes(b"<html>\xff\x00</html>")
    status, answer = explain(source, str(page))
    assert status == 1
    assert list(answer) == ["refused"]


def test_message_is_refused_when_it_is_larger_than_any(explain: Explain, tmp_path: Path) -> None:
    """Read so far that this is seen, and no further."""
    large = tmp_path / "large"
    large.write_bytes(changed("spot-interruption-stop", "padding", "x" * 2_000_000))
    status, answer = explain("aws-sqs", str(large))
    assert status == 1
    assert "larger" in answer["refused"]


def test_message_is_for_others_when_another_instance_asks(explain: Explain) -> None:
    """The question is always about one node."""
    file = str(DATA / "health-retirement-of-three.json")
    status, answer = explain("aws-sqs", file, "--instance-id", "i-0beef000000000005")
    assert [notice["instance_id"] for notice in answer["notices"]] == ["i-0beef000000000005"]
    status, answer = explain("aws-sqs", file, "--instance-id", MINE)
    assert status == 0
    assert MINE in answer["ignored"]


def test_message_names_what_the_queue_knows_when_it_knows_more(explain: Explain) -> None:
    """The hook that waits, and the reservation whose members are to be found."""
    _, scaled_in = explain("aws-sqs", str(DATA / "asg-terminate-direct.json"))
    assert scaled_in["notices"][0]["hook"] == {
        "group": "trainers",
        "name": "let-them-save",
        "token": "c0ffee00-1111-4222-8333-444455556666",
    }
    block = str(DATA / "capacity-block-expiration.json")
    _, ended = explain("aws-sqs", block, "--instance-id", MINE, *NOW)
    assert ended["notices"][0]["reservation_id"] == "cr-0cab1e00000000001"
    assert ended["notices"][0]["left_s"] == 598.0


def test_time_left_shrinks_when_the_body_came_earlier(explain: Explain) -> None:
    """A notice without a deadline counts from its receipt."""
    file = str(DATA / "asg-terminate.json")
    _, answer = explain("aws-sqs", file, "--received-at", "2026-11-30T10:04:58Z", *NOW)
    [notice] = answer["notices"]
    assert notice["deadline"] is None
    assert notice["counts_until"] == "2026-11-30T10:05:28Z"
    assert notice["left_s"] == 20.0


def test_stop_is_planned_when_it_is_days_ahead(explain: Explain) -> None:
    """The reboot is on 12 December at 15:10:09; until shortly before, the node is of use."""
    _, answer = explain("aws-sqs", str(DATA / "health-reboot.json"), *NOW)
    [notice] = answer["notices"]
    assert notice["deadline"] == "2026-12-12T15:10:09Z"
    assert "2026-12-12T14:" < notice["acts_from"] < notice["deadline"]


def test_body_is_read_from_standard_input_when_the_file_is_a_dash(
    explain: Explain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it can stand at the end of a pipe."""
    piped = io.TextIOWrapper(io.BytesIO(body("rebalance-recommendation")))
    monkeypatch.setattr(sys, "stdin", piped)
    _, answer = explain("aws-sqs", "-")
    assert answer["notices"][0]["urgency"] == "advisory"


def test_mistake_is_answered_with_what_to_do_when_on_the_command_line(
    explain: Explain, tmp_path: Path
) -> None:
    """Nothing is printed that could be taken for an answer."""
    file = str(DATA / "asg-terminate.json")
    assert "nearest known one is aws-imds-spot" in explain.complaint("aws-imds-sport", file)
    assert "No such file" in explain.complaint("aws-sqs", str(tmp_path / "none"))
    assert "Is a directory" in explain.complaint("aws-sqs", str(tmp_path))
    assert "like 2026-11-30T10:07:06Z" in explain.complaint("aws-sqs", file, "--now", "noon")
    assert "--received-at" in explain.complaint("aws-sqs", file, "--received-at", "")


def test_help_lists_every_source_when_asked(
    explain: Explain, capsys: pytest.CaptureFixture[str]
) -> None:
    """A source that the help does not have is not found by anybody."""
    assert explain.status("--help") == 0
    listed = re.findall(r"^  ([a-z]+-[a-z-]+)  ", capsys.readouterr().out, flags=re.MULTILINE)
    assert listed == list(BODIES)


@pytest.mark.e2e
def test_example_does_what_the_help_shows_when_typed() -> None:
    """The first example of the help, as a shell runs it."""
    example = EXAMPLES.partition("example:")[2].partition("\n\n")[2].partition("\n\n")[0]
    command = example.replace("reprieve-watcher", f"{sys.executable} -m watcher")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    [notice] = json.loads(done.stdout)["notices"]
    assert notice["left_s"] == 120.0
