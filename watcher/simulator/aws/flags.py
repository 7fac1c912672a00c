"""`reprieve-watcher simulate aws`: its flags, and the help that explains them."""

import argparse
from collections.abc import Mapping

from watcher.simulator.aws.changes import (
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    SpotAction,
)
from watcher.simulator.aws.identity import DEFAULT_INSTANCE_ID
from watcher.simulator.aws.scenario import read_scenario
from watcher.simulator.aws.tokens import MAX_TOKEN_TTL_S
from watcher.simulator.aws.vocabulary import EXPIRE_TOKENS, WORDS
from watcher.simulator.changes import Change
from watcher.simulator.cloud import Examples, SimulatedCloud
from watcher.simulator.values import ScenarioError, seconds, text, whole

DESCRIPTION = """\
Play EC2's instance metadata service on loopback, for a Spot instance that is about to go.

Paths, tokens, headers and status codes are the real ones, so whatever watches for an
interruption can be pointed at it: reprieve-watcher, another handler, curl. Nothing is
interrupted; only the notice appears."""

EXAMPLES = Examples(
    about="a notice with two minutes to spare",
    flag="--notice-after",
    change="notice",
    by_hand="""\
  curl -X POST http://127.0.0.1:1338/simulator/notice -d '{"window_s": 30, "action": "stop"}'
  curl -X POST http://127.0.0.1:1338/simulator/withdraw
  curl -X POST http://127.0.0.1:1338/simulator/fault -d '{"kind": "status", "status": 503,
       "path_prefix": "/latest/meta-data/", "for_s": 30}'""",
)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--notice-after", type=float, metavar="S", help="issue the Spot notice then; else never")
    add("--window", type=float, metavar="S", help="notice to action (default 120; hibernate 0)")
    add("--action", choices=list(SpotAction), help="what it announces (default terminate)")
    add("--rebalance-after", type=float, metavar="S", help="recommend a rebalance then")
    add("--withdraw-after", type=float, metavar="S", help="take the notice back then")
    add("--instance-id", metavar="ID", help=f"(default {DEFAULT_INSTANCE_ID})")
    add(
        "--token-ttl-cap",
        type=int,
        metavar="S",
        help=f"grant tokens no longer life than this (default {MAX_TOKEN_TTL_S})",
    )


def _changes_of(arguments: argparse.Namespace) -> tuple[Change, ...]:
    changes: list[Change] = []
    if arguments.notice_after is not None:
        action = SpotAction(arguments.action or SpotAction.TERMINATE)
        window_s = action.window_s if arguments.window is None else arguments.window
        issued = NoticeIssued(
            at_s=seconds("--notice-after", arguments.notice_after),
            action=action,
            window_s=seconds("--window", window_s),
        )
        changes.append(issued)
    elif arguments.window is not None or arguments.action is not None:
        raise ScenarioError("--window and --action describe the notice of --notice-after")
    if arguments.rebalance_after is not None:
        at_s = seconds("--rebalance-after", arguments.rebalance_after)
        changes.append(RebalanceRecommended(at_s=at_s))
    if arguments.withdraw_after is not None:
        at_s = seconds("--withdraw-after", arguments.withdraw_after)
        changes.append(NoticeWithdrawn(at_s=at_s))
    return tuple(changes)


def _instance_of(arguments: argparse.Namespace) -> Mapping[str, object]:
    instance: dict[str, object] = {}
    if arguments.instance_id is not None:
        instance["id"] = text("--instance-id", arguments.instance_id)
    if arguments.token_ttl_cap is not None:
        cap_s = whole("--token-ttl-cap", arguments.token_ttl_cap, 1, MAX_TOKEN_TTL_S)
        instance["token_ttl_cap_s"] = cap_s
    return instance


AWS = SimulatedCloud(
    summary="EC2 instance metadata",
    description=DESCRIPTION,
    examples=EXAMPLES,
    words=WORDS,
    fault_kinds=(EXPIRE_TOKENS,),
    add_flags=_add_flags,
    changes_of=_changes_of,
    instance_of=_instance_of,
    scenario=read_scenario,
)
"""EC2's simulator, as the command line and scenario files know it."""
