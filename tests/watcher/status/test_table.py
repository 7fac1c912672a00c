"""What a person sees of the daemon's state."""

import json
from typing import Any

import pytest

from tests.support.told_state import NOW_S, told_notice, told_state
from watcher.status.document import read_state
from watcher.status.table import CELL_LIMIT, table

NOBODY: dict[str, Any] = {"found": [], "refused": {}, "unknown": None}


def _shown(**changes: Any) -> str:  # noqa: ANN401 - the document's own
    told, _ = read_state(json.dumps(told_state(**changes)).encode())
    return table(told)


def test_table_shows_everything_when_a_notice_is_in_force() -> None:
    """From the first line, which is the answer, to the trainers."""
    assert _shown() == (
        "node-a: a notice is in force, 1 min 52 s left\n"
        "cloud aws: proved by an id\n"
        "\n"
        "SOURCE    KEY   ANSWER   AGE\n"
        "aws_imds  spot  present  0.4 s\n"
        "\n"
        "NOTICE aws-spot-terminate\n"
        "preemption, stop, 1 min 52 s left; heard by aws_imds 8.0 s ago\n"
        "  flag_file  done     wrote it\n"
        "  drain      waiting  held: team-a/train\n"
        "\n"
        "NODE node-a: cordoned by us, tainted preemption:NoSchedule (2.0 s ago)\n"
        "PODS 2 to evict, of them 1 held and 1 blocked; 3 evicted, of them 1 gone\n"
        "  team-a/train  held     its trainer is running, 1200 steps done\n"
        "  team-a/web    blocked  its budget allows none\n"
        "\n"
        "TRAINER  STATE    STEP  COMMITTED             HEARTBEAT\n"
        "t-1      running  1200  1100, 1 min 10 s ago  0.5 s ago\n"
    )


def test_table_is_short_when_all_is_quiet() -> None:
    """A virtual machine on a usual day."""
    shown = _shown(in_force=[], kubernetes=None, trainers=NOBODY)
    assert shown.splitlines()[0] == "node-a: no notice is in force"
    assert shown.splitlines()[-1] == "no trainer has said anything"
    assert "NODE" not in shown


def test_table_says_unknown_when_a_source_is_blind() -> None:
    """It is no good news that nothing is in force then."""
    key = {
        "last_answer": "unknown",
        "answered_unix_s": None,
        "blind_since_unix_s": NOW_S - 75,
        "why": "refused",
    }
    shown = _shown(
        in_force=[], ready=False, sources={"aws_imds": {"keys": {"spot": key}}}, trainers=NOBODY
    )
    assert shown.startswith("node-a: UNKNOWN: ")
    assert "aws_imds  spot  unknown  -    blind for 1 min 15 s: refused\n" in shown


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"deadline_unix_s": None}, "1 min 52 s left by the usual window"),
        ({"counts_until_unix_s": NOW_S - 61}, "its time was over 1 min 1 s ago; heard"),
    ],
)
def test_table_says_how_much_time_is_left(changes: dict[str, Any], words: str) -> None:
    """Also where the cloud has named no time, and where it has passed."""
    assert words in _shown(in_force=[told_notice(**changes)])


def test_table_counts_by_the_first_deadline_when_there_are_several_notices() -> None:
    """Both are shown, and a planned one with when it comes in force."""
    later = told_notice(id="later", counts_until_unix_s=NOW_S + 9000)
    planned = told_notice(
        id="planned",
        acts_from_unix_s=NOW_S + 7200,
        counts_until_unix_s=NOW_S + 14_400,
        actions={},
    )
    shown = _shown(in_force=[later, told_notice()], planned=[planned])
    assert shown.startswith("node-a: 2 notices are in force, 1 min 52 s left\n")
    assert "NOTICE planned\npreemption, stop, in force in 2 h 0 min; 4 h 0 min left;" in shown
    quiet = _shown(in_force=[], planned=[planned])
    assert quiet.startswith("node-a: no notice is in force, 1 planned\n")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"unschedulable": False, "taints": []}, "NODE node-a: schedulable (2.0 s ago)"),
        ({"cordoned_by_us": False, "taints": []}, "cordoned, and not by us (2.0 s ago)"),
    ],
)
def test_table_says_whose_the_cordon_is(changes: dict[str, Any], words: str) -> None:
    """Ours is taken off; somebody else's is not."""
    node = told_state()["kubernetes"]["node"] | changes
    assert words in _shown(kubernetes={"node": node, "pods": None})


def test_table_says_that_the_node_is_not_read_when_it_is_not() -> None:
    """The API server may be away."""
    assert "NODE not read so far\n" in _shown(kubernetes={"node": None, "pods": None})


def test_table_names_trainers_that_are_dead_refused_or_unknown() -> None:
    """Whoever wonders why a pod is held sees it."""
    dead = told_state()["trainers"]["found"][0] | {
        "alive": False,
        "heartbeat_age_s": 61.0,
        "committed_step": None,
        "committed_unix_s": None,
    }
    shown = _shown(
        trainers={"found": [dead], "refused": {"x.json": "no JSON"}, "unknown": "too many"}
    )
    assert "t-1      running  1200  -          1 min 1 s ago, so taken for dead\n" in shown
    left = _shown(trainers={"found": [dead | {"state": "exited"}], "refused": {}, "unknown": ""})
    assert "exited  1200  -          1 min 1 s ago\n" in left
    assert "trainers unknown: too many\n  x.json  refused  no JSON\n" in shown


def test_table_sends_the_terminal_nothing_when_others_words_would() -> None:
    """Escapes, newlines, carriage returns and letters that turn the line around are shown."""
    evil = "\x1b]0;owned\x07\r\nnode-a: fine \u202e\x9b2J"
    pods = told_state()["kubernetes"]["pods"] | {"held_by": {evil: evil}, "blocked_by": {}}
    trainer = told_state()["trainers"]["found"][0] | {"id": evil, "state": evil}
    key = {
        "last_answer": evil,
        "answered_unix_s": None,
        "blind_since_unix_s": NOW_S,
        "why": evil,
    }
    shown = _shown(
        node=evil,
        cloud={"name": evil, "why": evil},
        sources={evil: {"keys": {evil: key}}},
        in_force=[
            told_notice(
                id=evil,
                kind=evil,
                urgency=evil,
                source=evil,
                actions={evil: {"outcome": evil, "what": evil}},
            )
        ],
        kubernetes={
            "node": told_state()["kubernetes"]["node"] | {"name": evil, "taints": [evil]},
            "pods": pods,
        },
        trainers={"found": [trainer], "refused": {evil: evil}, "unknown": evil},
    )
    assert shown.count("\\x1b]0;owned\\x07\\r\\nnode-a: fine \\u202e\\x9b2J") == 23
    assert all(line.isprintable() for line in shown.splitlines())


def test_table_cuts_a_word_when_it_is_endless() -> None:
    """One trainer's id does not fill the screen."""
    shown = _shown(cloud={"name": "aws", "why": "x" * 10_000})
    assert f"cloud aws: {'x' * CELL_LIMIT}...\n" in shown
