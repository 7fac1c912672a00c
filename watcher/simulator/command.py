"""`reprieve-watcher simulate aws`: its flags, and the process around the server."""

import argparse
import asyncio
import logging
import os
import signal
import sys

from watcher.simulator.clock import ScenarioClock
from watcher.simulator.scenario import (
    DEFAULT_INSTANCE_ID,
    MAX_TOKEN_TTL_S,
    Change,
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    Scenario,
    ScenarioError,
    SpotAction,
)
from watcher.simulator.server import make_app, serving

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

and by hand, at any moment:

  curl -X POST http://127.0.0.1:1338/simulator/notice -d '{"window_s": 30, "action": "stop"}'
  curl -X POST http://127.0.0.1:1338/simulator/rebalance
  curl -X POST http://127.0.0.1:1338/simulator/withdraw
  curl -X POST http://127.0.0.1:1338/simulator/fault -d '{"kind": "status", "status": 503,
       "path_prefix": "/latest/meta-data/", "for_s": 30}'
  curl -X DELETE http://127.0.0.1:1338/simulator/fault
  curl http://127.0.0.1:1338/simulator/requests

faults: status, hang, reset, half_body, garbage, html, redirect, slow (each with path_prefix,
count, for_s, delay_s), and expire_tokens. All times are in seconds after the start.

exit status: 0 stopped by SIGTERM or Ctrl-C, 78 flags that make no sense or an address that can't
be listened on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the AWS simulator, and the help that explains them, to ``parser``."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add("--port", type=int, default=DEFAULT_PORT, help="port, 0 = any (default %(default)s)")
    add("--notice-after", type=float, metavar="S", help="issue the Spot notice then; else never")
    add("--window", type=float, metavar="S", help="notice to action (default 120; hibernate 0)")
    add("--action", choices=list(SpotAction), help="what it announces (default terminate)")
    add("--rebalance-after", type=float, metavar="S", help="recommend a rebalance then")
    add("--withdraw-after", type=float, metavar="S", help="take the notice back then")
    add("--instance-id", default=DEFAULT_INSTANCE_ID, help="(default %(default)s)")
    add(
        "--token-ttl-cap",
        type=int,
        default=MAX_TOKEN_TTL_S,
        metavar="S",
        help="grant tokens no longer life than this (default %(default)s)",
    )
    add("--quiet", action="store_true", help="log neither requests nor changes on stderr")


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT and return the exit status; the URL goes to stdout."""
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    level = logging.WARNING if arguments.quiet else logging.INFO
    logging.getLogger("watcher.simulator").setLevel(level)
    try:
        scenario = scenario_of(arguments)
        asyncio.run(_serve(scenario, arguments.host, arguments.port))
    except (ScenarioError, OSError) as error:
        sys.stderr.write(f"reprieve-watcher simulate aws: {error}\n")
        return os.EX_CONFIG
    return os.EX_OK


def scenario_of(arguments: argparse.Namespace) -> Scenario:
    """Turn the flags into a scenario.

    Raises:
        ScenarioError: They contradict each other.
    """
    if not 0 <= arguments.port <= 65_535:
        raise ScenarioError(f"--port must be 0 to 65535, not {arguments.port}")
    changes: list[Change] = []
    if arguments.notice_after is not None:
        action = SpotAction(arguments.action or SpotAction.TERMINATE)
        window_s = action.window_s if arguments.window is None else arguments.window
        issued = NoticeIssued(at_s=arguments.notice_after, action=action, window_s=window_s)
        changes.append(issued)
    elif arguments.window is not None or arguments.action is not None:
        raise ScenarioError("--window and --action describe the notice of --notice-after")
    if arguments.rebalance_after is not None:
        changes.append(RebalanceRecommended(at_s=arguments.rebalance_after))
    if arguments.withdraw_after is not None:
        changes.append(NoticeWithdrawn(at_s=arguments.withdraw_after))
    return Scenario(
        changes=tuple(changes),
        instance_id=arguments.instance_id,
        token_ttl_cap_s=arguments.token_ttl_cap,
    )


async def _serve(scenario: Scenario, host: str, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(make_app(scenario, ScenarioClock()), host, port) as url:
        # Flushed: whoever started us waits for this line to learn the port.
        sys.stdout.write(f"simulator listening on {url}\n")
        sys.stdout.flush()
        await stop.wait()
