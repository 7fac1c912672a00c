"""/v1/state as a daemon in the middle of a notice answers it."""

from typing import Any

from tests.support.clocks import START

NOW_S = START.wall.timestamp()


def told_state(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the document has
    """Return the document with other parts in the place of its own."""
    document: dict[str, Any] = {
        "schema": 1,
        "node": "node-a",
        "cloud": {"name": "aws", "why": "proved by an id"},
        "now_unix_s": NOW_S,
        "ready": True,
        "sources": {
            "aws_imds": {
                "keys": {
                    "spot": {
                        "last_answer": "present",
                        "answered_unix_s": NOW_S - 0.4,
                        "blind_since_unix_s": None,
                        "why": "",
                    }
                }
            }
        },
        "in_force": [told_notice()],
        "planned": [],
        "past": [],
        "kubernetes": {
            "node": {
                "name": "node-a",
                "unschedulable": True,
                "cordoned_by_us": True,
                "taints": ["preemption:NoSchedule"],
                "seen_unix_s": NOW_S - 2,
            },
            "pods": {
                "to_evict": 2,
                "evicted": 3,
                "gone": 1,
                "held": 1,
                "held_by": {"team-a/train": "its trainer is running, 1200 steps done"},
                "blocked": 1,
                "blocked_by": {"team-a/web": "its budget allows none"},
                "forced": 0,
            },
        },
        "trainers": {
            "found": [
                {
                    "id": "t-1",
                    "state": "running",
                    "alive": True,
                    "heartbeat_age_s": 0.5,
                    "step": 1200,
                    "committed_step": 1100,
                    "committed_unix_s": NOW_S - 70,
                }
            ],
            "refused": {},
            "unknown": None,
        },
    }
    return document | changes


def told_notice(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - likewise
    """Return a notice in the document."""
    notice: dict[str, Any] = {
        "id": "aws-spot-terminate",
        "kind": "preemption",
        "urgency": "stop",
        "source": "aws_imds",
        "received_unix_s": NOW_S - 8,
        "deadline_unix_s": NOW_S + 112,
        "counts_until_unix_s": NOW_S + 112,
        "acts_from_unix_s": NOW_S - 8,
        "actions": {
            "flag_file": {"outcome": "done", "what": "wrote it"},
            "drain": {"outcome": "waiting", "what": "held: team-a/train"},
        },
    }
    return notice | changes
