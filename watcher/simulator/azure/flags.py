"""`reprieve-watcher simulate azure`: its flags, and the help that explains them."""

import argparse
from collections.abc import Mapping

from watcher.simulator.azure.changes import LEAST_NOTICE_S, EventEnded
from watcher.simulator.azure.machine import DEFAULT_NAME
from watcher.simulator.azure.scenario import read_scenario
from watcher.simulator.azure.vocabulary import DEFAULT_EVENT_ID, WORDS, event
from watcher.simulator.changes import Change
from watcher.simulator.cloud import Examples, SimulatedCloud
from watcher.simulator.values import ScenarioError, seconds, text

DESCRIPTION = """\
Play Azure's instance metadata service on loopback, with its Scheduled Events, for a Spot machine
of a scale set that is about to be evicted.

Paths, headers and status codes are the real ones, so whatever watches for events can be pointed at
it: reprieve-watcher, another handler, curl. Nothing is evicted; only the event appears."""

EXAMPLES = Examples(
    about="an eviction with 30 s to spare",
    flag="--notice-after",
    change="event",
    by_hand="""\
  curl -X POST http://127.0.0.1:1338/simulator/event -d '{"type": "Freeze", "duration_s": 9,
       "resources": ["gpu-vmss_0", "gpu-vmss_3"]}'
  curl -X POST http://127.0.0.1:1338/simulator/event_end
  curl -X POST http://127.0.0.1:1338/simulator/fault -d '{"kind": "status", "status": 429,
       "for_s": 30}'""",
)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--notice-after", type=float, metavar="S", help="announce an event then; else never")
    add("--type", choices=list(LEAST_NOTICE_S), help="what it announces (default Preempt)")
    add("--window", type=float, metavar="S", help="notice to start (default: the least, by type)")
    add("--withdraw-after", type=float, metavar="S", help="let the event disappear then")
    add("--vm-name", metavar="NAME", help=f"(default {DEFAULT_NAME})")
    add("--first-answer", type=float, metavar="S", help="hold the first answer back (default 0)")


def _changes_of(arguments: argparse.Namespace) -> tuple[Change, ...]:
    changes: list[Change] = []
    if arguments.notice_after is not None:
        fields = {"type": arguments.type} if arguments.type is not None else {}
        if arguments.window is not None:
            fields["not_before_s"] = seconds("--window", arguments.window)
        changes.append(event(seconds("--notice-after", arguments.notice_after), fields))
    elif arguments.window is not None or arguments.type is not None:
        raise ScenarioError("--window and --type describe the event of --notice-after")
    if arguments.withdraw_after is not None:
        at_s = seconds("--withdraw-after", arguments.withdraw_after)
        changes.append(EventEnded(at_s=at_s, event_id=DEFAULT_EVENT_ID))
    return tuple(changes)


def _instance_of(arguments: argparse.Namespace) -> Mapping[str, object]:
    instance: dict[str, object] = {}
    if arguments.vm_name is not None:
        instance["name"] = text("--vm-name", arguments.vm_name)
    if arguments.first_answer is not None:
        instance["first_answer_s"] = seconds("--first-answer", arguments.first_answer)
    return instance


AZURE = SimulatedCloud(
    summary="Azure instance metadata",
    description=DESCRIPTION,
    examples=EXAMPLES,
    words=WORDS,
    fault_kinds=(),
    add_flags=_add_flags,
    changes_of=_changes_of,
    instance_of=_instance_of,
    scenario=read_scenario,
)
"""Azure's simulator, as the command line and scenario files know it."""
