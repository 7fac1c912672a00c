"""`reprieve-watcher status`: asks the daemon on this node what it knows, and shows it."""

import argparse
import asyncio
import ipaddress
import json
import os
from pathlib import Path

from watcher import console
from watcher.config import Address, Config
from watcher.errors import ConfigError, SourceError, SourceUnavailable, escaped
from watcher.httpclient import HttpClient
from watcher.status.document import read_state
from watcher.status.table import table
from watcher.status.told import StateTold

DESCRIPTION = """\
Ask the daemon on this node what it knows: sources, notices and what was done about them, the
Kubernetes Node and the pods that leave it, trainers. Nothing is changed."""

EPILOG = """\
It asks the daemon over HTTP, so the run directory doesn't matter: of two daemons on one machine,
--listen or --config says which.

exit status: 0 no notice is in force, 75 one is, be it only advice, 1 unknown: the daemon does not
answer, or can't hear everything; 78 a setting is wrong"""

EXIT_IN_FORCE = os.EX_TEMPFAIL
"""The one of `reprieve-trainer launch` when a notice is in force."""

EXIT_UNKNOWN = 1

PATH = "/v1/state"

LIMIT_S = 5.0
"""Longest that the daemon may take; where its run directory hangs, it answers after a second."""

BODY_LIMIT_BYTES = 4 * 1024 * 1024
"""Largest answer that is read: 256 trainers and as many notices are less than half a MiB."""


_ADVICE = (
    "is `reprieve-watcher run` up on this machine, and does it listen there? --listen or --config "
    "say where"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `status` takes, and the help that explains it, to ``parser``."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--config", type=Path, metavar="FILE", help="the daemon's TOML file")
    parser.add_argument(
        "--listen",
        dest="faces.listen",
        metavar="HOST:PORT",
        help="where it listens (127.0.0.1:9765)",
    )
    parser.add_argument("--json", action="store_true", help="print what it answers, one object")


def run(config: Config, *, as_json: bool) -> int:
    """Show what the daemon knows, and return the exit status.

    Raises:
        ConfigError: The settings don't say where the daemon is.
    """
    url = f"http://{_reachable(config.faces.listen)}"
    try:
        told, document = read_state(asyncio.run(_asked(url)))
    except SourceError as error:
        why = f"it is unknown whether a notice is in force: {error}; {_ADVICE}"
        console.complain(escaped(why))
        return EXIT_UNKNOWN
    console.show(json.dumps(document, indent=2) + "\n" if as_json else table(told))
    return _status(told)


def _status(told: StateTold) -> int:
    if told.in_force:
        return EXIT_IN_FORCE
    return os.EX_OK if told.is_ready else EXIT_UNKNOWN


async def _asked(url: str) -> bytes:
    async with HttpClient(url, LIMIT_S, body_limit_bytes=BODY_LIMIT_BYTES) as client:
        answer = await client.call("GET", PATH, {})
    if answer.status != 200:
        raise SourceUnavailable(
            f"GET {url}{PATH}: HTTP {answer.status}", outcome="unexpected_status"
        )
    return answer.body


def _reachable(listen: Address) -> Address:
    """Return the address at which what listens there is reached from this machine.

    Raises:
        ConfigError: Its port is any free one.
    """
    if listen.port == 0:
        raise ConfigError(
            "faces.listen has port 0, any free one: the daemon's log says which it has got. Name "
            "it with --listen HOST:PORT"
        )
    address = ipaddress.ip_address(listen.host)
    if not address.is_unspecified:
        return listen
    return Address("127.0.0.1" if address.version == 4 else "::1", listen.port)
