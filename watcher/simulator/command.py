"""`reprieve-watcher simulate CLOUD`: the flags, and the process around the server."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from aiohttp import web

from watcher import console
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.clouds import SIMULATORS
from watcher.simulator.faults import FaultKind
from watcher.simulator.request_log import json_lines
from watcher.simulator.scenario import Scenario
from watcher.simulator.scenario_file import load_scenario
from watcher.simulator.server import make_app, serving
from watcher.simulator.values import ScenarioError

DEFAULT_PORT = 1338

_EXAMPLES = """\
example: {about}, ten seconds from now

  install -d -m 1777 /tmp/node/trainers /tmp/node/requests
  reprieve-watcher simulate {cloud} {flag} 10 &
  reprieve-watcher run --cloud {cloud} --metadata-endpoint http://127.0.0.1:1338 --run-dir /tmp/node

the same, and all that can happen, from a file: reprieve-watcher simulate {cloud} --scenario FILE

  cloud = "{cloud}"

  [[changes]]
  at_s = 10
  change = "{change}"

and by hand, at any moment, with the same words:

{by_hand}
  curl -X DELETE http://127.0.0.1:1338/simulator/fault
  curl http://127.0.0.1:1338/simulator/requests"""

_CHANGES = """\
changes, and what may go with each (all times in seconds; docs/simulator.md explains them):
"""

_ENDING = """\
exit status: 0 stopped by SIGTERM, SIGHUP or Ctrl-C, or the file that was to be checked is in
order; 78 flags or a scenario that make no sense, or an address that can't be listened on."""


def add_arguments(parser: argparse.ArgumentParser, cloud: str) -> None:
    """Add the flags of ``cloud``'s simulator, and the help that explains them, to ``parser``."""
    simulated = SIMULATORS[cloud]
    changes = "".join(
        f"  {name}: {', '.join(word.fields) or '(nothing)'}\n"
        for name, word in simulated.words.items()
    )
    kinds = f"kinds of fault: {', '.join([*FaultKind, *simulated.fault_kinds])}\n"
    parser.description = simulated.description
    examples = _EXAMPLES.format(cloud=cloud, **asdict(simulated.examples))
    parser.epilog = f"{examples}\n\n{_CHANGES}\n{changes}\n{kinds}\n{_ENDING}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add("--port", type=int, default=DEFAULT_PORT, help="port, 0 = any (default %(default)s)")
    add("--scenario", type=Path, metavar="FILE", help="play what this TOML or JSON file describes")
    add("--check", type=Path, metavar="FILE", help="only say whether this scenario is in order")
    simulated.add_flags(parser)
    add("--request-log", type=Path, metavar="FILE", help="append every request, as a JSON line")
    add("--quiet", action="store_true", help="log neither requests nor changes on stderr")


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP and return the exit status; the URL goes to stdout.

    ``arguments.simulated`` names the cloud.
    """
    cloud = str(arguments.simulated)
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    level = logging.WARNING if arguments.quiet else logging.INFO
    logging.getLogger("watcher.simulator").setLevel(level)
    try:
        if arguments.check is not None:
            _check(arguments.check, cloud)
        else:
            _play(arguments, scenario_of(arguments, cloud))
    except (ScenarioError, OSError) as error:
        console.complain(f"simulate {cloud}: {error}")
        return os.EX_CONFIG
    return os.EX_OK


def _check(file: Path, cloud: str) -> None:
    timeline = load_scenario(file, cloud).timeline()
    last_s = timeline[-1].at_s if timeline else 0.0
    console.show(f"{file} is in order: {len(timeline)} changes in {last_s:g} s\n")


def scenario_of(arguments: argparse.Namespace, cloud: str) -> Scenario:
    """Turn the flags into a scenario; those of the instance win over a scenario file's.

    Raises:
        ScenarioError: They contradict each other.
    """
    if not 0 <= arguments.port <= 65_535:
        raise ScenarioError(f"--port must be 0 to 65535, not {arguments.port}")
    simulated = SIMULATORS[cloud]
    changes, instance = simulated.changes_of(arguments), simulated.instance_of(arguments)
    if arguments.scenario is None:
        return simulated.scenario(instance, changes)
    if changes:
        raise ScenarioError("--scenario says what happens: write the notice into the file")
    return load_scenario(arguments.scenario, cloud, instance)


def _play(arguments: argparse.Namespace, scenario: Scenario) -> None:
    log = arguments.request_log
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
        # At once: whoever started us waits for this line to learn the port.
        console.show(f"simulator listening on {url}\n")
        await stop.wait()
