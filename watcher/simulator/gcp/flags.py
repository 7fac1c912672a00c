"""`reprieve-watcher simulate gcp`: its flags, and the help that explains them."""

import argparse
from collections.abc import Mapping

from watcher.simulator.changes import Change
from watcher.simulator.cloud import Examples, SimulatedCloud
from watcher.simulator.gcp.changes import MaintenanceEventSet, PreemptedSet
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.scenario import read_scenario
from watcher.simulator.gcp.stage import NO_EVENT
from watcher.simulator.gcp.vocabulary import TERMINATE, WORDS
from watcher.simulator.values import ScenarioError, seconds, text

DESCRIPTION = """\
Play Compute Engine's metadata server on loopback, for a VM that is about to go.

Paths, headers, ETags and hanging GETs are the real ones, so whatever watches for a preemption or
a maintenance can be pointed at it: reprieve-watcher, another handler, curl. Nothing is
interrupted; only the notice appears."""

EXAMPLES = Examples(
    about="a Spot VM is preempted",
    flag="--preempted-after",
    change="preempted",
    by_hand="""\
  curl -X POST http://127.0.0.1:1338/simulator/preempted
  curl -X POST http://127.0.0.1:1338/simulator/maintenance_event -d '{"value": "NONE"}'
  curl -X POST http://127.0.0.1:1338/simulator/fault -d '{"kind": "status", "status": 503,
       "path_prefix": "/computeMetadata/v1/instance/preempted", "for_s": 30}'""",
)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--preempted-after", type=float, metavar="S", help="preempt the VM then; else never")
    add("--event-after", type=float, metavar="S", help="begin a maintenance event then")
    add("--event", metavar="WORD", help=f"which one (default {TERMINATE})")
    add("--event-over-after", type=float, metavar="S", help="end it then")
    add("--machine-type", metavar="TYPE", help=f"(default {Identity().machine_type})")
    add("--on-demand", action="store_true", help="the VM is no Spot VM")


def _changes_of(arguments: argparse.Namespace) -> tuple[Change, ...]:
    changes: list[Change] = []
    if arguments.preempted_after is not None:
        at_s = seconds("--preempted-after", arguments.preempted_after)
        changes.append(PreemptedSet(at_s=at_s, value="TRUE"))
    if arguments.event_after is not None:
        event = TERMINATE if arguments.event is None else text("--event", arguments.event)
        at_s = seconds("--event-after", arguments.event_after)
        changes.append(MaintenanceEventSet(at_s=at_s, value=event))
    elif arguments.event is not None or arguments.event_over_after is not None:
        raise ScenarioError("--event and --event-over-after describe the event of --event-after")
    if arguments.event_over_after is not None:
        at_s = seconds("--event-over-after", arguments.event_over_after)
        changes.append(MaintenanceEventSet(at_s=at_s, value=NO_EVENT))
    return tuple(changes)


def _instance_of(arguments: argparse.Namespace) -> Mapping[str, object]:
    instance: dict[str, object] = {}
    if arguments.machine_type is not None:
        instance["machine_type"] = text("--machine-type", arguments.machine_type)
    if arguments.on_demand:
        instance["preemptible"] = False
    return instance


GCP = SimulatedCloud(
    summary="Compute Engine's metadata server",
    description=DESCRIPTION,
    examples=EXAMPLES,
    words=WORDS,
    fault_kinds=(),
    add_flags=_add_flags,
    changes_of=_changes_of,
    instance_of=_instance_of,
    scenario=read_scenario,
)
"""Compute Engine's simulator, as the command line and scenario files know it."""
