"""`reprieve-watcher simulate aws`: its flags, and the process around the server."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from aiohttp import web

from watcher.simulator.changes import (
    Change,
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    SpotAction,
)
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import FaultKind
from watcher.simulator.request_log import json_lines
from watcher.simulator.scenario import DEFAULT_INSTANCE_ID, MAX_TOKEN_TTL_S, Scenario
from watcher.simulator.scenario_file import load_scenario
from watcher.simulator.server import make_app, serving
from watcher.simulator.values import ScenarioError, seconds
from watcher.simulator.vocabulary import EXPIRE_TOKENS, WORDS

DEFAULT_PORT = 1338

DESCRIPTION = """\
Play EC2's instance metadata service on loopback, for a Spot instance that is about to go.

Paths, tokens, headers and status codes are the real ones, so whatever watches for an
interruption can be pointed at it: reprieve-watcher, another handler, curl. Nothing is
interrupted; only the notice appears."""

EPILOG = """\
example: a notice with two minutes to spare, ten seconds from now

  mkdir -p /tmp/reprieve
  reprieve-watcher simulate aws --notice-after 10 &
  reprieve-watcher run --metadata-endpoint http://127.0.0.1:1338 --run-dir /tmp/reprieve

the same, and all else that can happen, from a file: reprieve-watcher simulate aws --scenario FILE

  [[changes]]
  at_s = 10
  change = "notice"

and by hand, at any moment, with the same words:

  curl -X POST http://127.0.0.1:1338/simulator/notice -d '{"window_s": 30, "action": "stop"}'
  curl -X POST http://127.0.0.1:1338/simulator/withdraw
  curl -X POST http://127.0.0.1:1338/simulator/fault -d '{"kind": "status", "status": 503,
       "path_prefix": "/latest/meta-data/", "for_s": 30}'
  curl -X DELETE http://127.0.0.1:1338/simulator/fault
  curl http://127.0.0.1:1338/simulator/requests

changes, and what may go with each (all times in seconds; docs/simulator.md explains them):

"""

ENDING = """
exit status: 0 stopped by SIGTERM, SIGHUP or Ctrl-C, or the file that was to be checked is in
order; 78 flags or a scenario that make no sense, or an address that can't be listened on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the AWS simulator, and the help that explains them, to ``parser``."""
    parser.description = DESCRIPTION
    changes = "".join(
        f"  {name}: {', '.join(word.fields) or '(nothing)'}\n" for name, word in WORDS.items()
    )
    kinds = ", ".join([*FaultKind, EXPIRE_TOKENS])
    parser.epilog = f"{EPILOG}{changes}\nkinds of fault: {kinds}\n{ENDING}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add("--port", type=int, default=DEFAULT_PORT, help="port, 0 = any (default %(default)s)")
    add("--scenario", type=Path, metavar="FILE", help="play what this TOML or JSON file describes")
    add("--check", type=Path, metavar="FILE", help="only say whether this scenario is in order")
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
    add("--request-log", type=Path, metavar="FILE", help="append every request, as a JSON line")
    add("--quiet", action="store_true", help="log neither requests nor changes on stderr")


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP and return the exit status; the URL goes to stdout."""
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    level = logging.WARNING if arguments.quiet else logging.INFO
    logging.getLogger("watcher.simulator").setLevel(level)
    try:
        if arguments.check is not None:
            _check(arguments.check)
        else:
            _play(arguments)
    except (ScenarioError, OSError) as error:
        sys.stderr.write(f"reprieve-watcher simulate aws: {error}\n")
        return os.EX_CONFIG
    return os.EX_OK


def _check(file: Path) -> None:
    timeline = load_scenario(file).timeline()
    last_s = timeline[-1].at_s if timeline else 0.0
    sys.stdout.write(f"{file} is in order: {len(timeline)} changes in {last_s:g} s\n")


def scenario_of(arguments: argparse.Namespace) -> Scenario:
    """Turn the flags into a scenario; those of the instance win over a scenario file's.

    Raises:
        ScenarioError: They contradict each other.
    """
    if not 0 <= arguments.port <= 65_535:
        raise ScenarioError(f"--port must be 0 to 65535, not {arguments.port}")
    changes = _changes_of(arguments)
    if arguments.scenario is None:
        scenario = Scenario(changes=changes)
    elif changes:
        raise ScenarioError("--scenario says what happens: write the notice into the file")
    else:
        scenario = load_scenario(arguments.scenario)
    if arguments.instance_id is not None:
        scenario = replace(scenario, instance_id=arguments.instance_id)
    if arguments.token_ttl_cap is not None:
        scenario = replace(scenario, token_ttl_cap_s=arguments.token_ttl_cap)
    return scenario


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


def _play(arguments: argparse.Namespace) -> None:
    scenario, log = scenario_of(arguments), arguments.request_log
    with json_lines(log) if log is not None else nullcontext() as ended:
        app = make_app(scenario, ScenarioClock(), ended)
        asyncio.run(_serve(app, arguments.host, arguments.port))


async def _serve(app: web.Application, host: str, port: int) -> None:
    stop = asyncio.Event()
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is under nohup
        numbers.append(signal.SIGHUP)
    for number in numbers:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(app, host, port) as url:
        # Flushed: whoever started us waits for this line to learn the port.
        sys.stdout.write(f"simulator listening on {url}\n")
        sys.stdout.flush()
        await stop.wait()
