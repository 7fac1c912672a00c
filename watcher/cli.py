"""The command line: reads the settings, starts what was asked for, maps errors to exit codes.

Exit status: 0 ended as asked, 78 (EX_CONFIG) something has to be set up or spelt differently,
1 a bug, with a traceback, or a machine that is short of something. This is the only place that
ends the process.
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from signal import Signals
from typing import NoReturn

from watcher import check_config, console, start
from watcher.cloud import AUTO, NONE
from watcher.config import Config
from watcher.doctor import command as doctor
from watcher.drill import command as drill
from watcher.errors import AwsCallFailed, ConfigError, StartFailed
from watcher.explain import command as explain
from watcher.logs import start_logging
from watcher.node_queue import command as queue
from watcher.relay import command as relay
from watcher.settings import LOG_FORMATS, LOG_LEVELS, SETTINGS, Effective, load, strangers
from watcher.simulator import command as simulator
from watcher.simulator.clouds import SIMULATORS
from watcher.sources import CLOUDS, ROADS
from watcher.status import command as status

log = logging.getLogger(__name__)

_DESCRIPTION = """\
Hear that the cloud is about to take this node, and tell the trainers on it."""

_EPILOG = """\
example, on a laptop:

  reprieve-watcher simulate aws --port 1338 --notice-after 10 &
  install -d -m 1777 /tmp/node/trainers /tmp/node/requests
  reprieve-watcher run --cloud aws --metadata-endpoint http://127.0.0.1:1338 --run-dir /tmp/node
  cat /tmp/node/notice.json

exit status: 0 ended as asked, 78 a setting or the set-up is wrong, 1 a bug or a full machine"""

_RUN = """\
Hear this node's notices until SIGTERM, SIGINT or SIGHUP. On one, write RUN_DIR/notice.json, signal
the process of the pid file, if one is named, and drain its Kubernetes Node, if there is one."""

_RUN_EPILOG = """\
example: reprieve-watcher run --run-dir /run/reprieve --signal-pid-file /run/trainer.pid

Every option can be set as REPRIEVE_<KEY> in the environment and in the TOML file as well;
the command line wins. `reprieve-watcher check-config` lists the keys."""


_METADATA_KEYS = tuple(
    f"{name}.metadata_endpoint"
    for name, road in ROADS.items()
    if road.cloud is not None and "metadata_endpoint" in road.readers
)
"""What --metadata-endpoint sets: each cloud's, since only the one that is heard is asked there."""


class _Parser(argparse.ArgumentParser):
    """A parser for which a mistyped option is a configuration error like any other."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(os.EX_CONFIG, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status."""
    console.occupy_standard_descriptors()
    sys.exit(_dispatch(argv))


def _dispatch(argv: Sequence[str] | None) -> int:
    commands: Mapping[str, Callable[[argparse.Namespace], int]] = {
        "run": _run,
        "check-config": _check_config,
        "doctor": lambda given: doctor.run(_load(given).config, as_json=given.json),
        "drill": lambda given: drill.run(given, _load(given).config),
        "explain": explain.run,
        "queue": queue.run,
        "relay": _relay,
        "simulate": simulator.run,
        "status": lambda given: status.run(_load(given).config, as_json=given.json),
    }
    try:
        arguments = _arguments(argv)
        return commands[arguments.command](arguments)
    except ConfigError as error:
        console.complain(error)
        return os.EX_CONFIG
    except (StartFailed, AwsCallFailed) as error:
        console.complain(error)
        return 1
    except KeyboardInterrupt:  # as a shell reports it; run, relay and simulate end in order instead
        return 128 + Signals.SIGINT
    except Exception:
        log.exception("the daemon ends on a bug; restarted, it reads everything again")
        return 1


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    try:
        return _parser().parse_args(argv)
    except SystemExit:
        console.flush()  # it was a help text or the version, which argparse has only buffered
        raise


def _run(arguments: argparse.Namespace) -> int:
    config = _started(arguments)
    start.run(config)
    return 0


def _relay(arguments: argparse.Namespace) -> int:
    config = _started(arguments)
    relay.run(config)
    return 0


def _started(arguments: argparse.Namespace) -> Config:
    """Return the settings of a long-running command, with its log begun."""
    config = _load(arguments).config
    start_logging(config.log_format, config.log_level)
    for sentence in strangers(os.environ):
        log.warning("%s", sentence)
    return config


def _check_config(arguments: argparse.Namespace) -> int:
    effective = _load(arguments)
    return check_config.run(effective, as_json=arguments.json, is_explained=arguments.explain)


def _load(arguments: argparse.Namespace) -> Effective:
    options = vars(arguments)
    given: dict[str, str | None] = {key: options.get(key) for key in SETTINGS}
    given |= dict.fromkeys(_METADATA_KEYS, options.get("metadata_endpoint"))
    return load(arguments.config, os.environ, given)


def _parser() -> _Parser:
    parser = _Parser(
        prog="reprieve-watcher",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('reprieve')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(commands)
    check = commands.add_parser(
        "check-config", help="show the settings and where each was made", allow_abbrev=False
    )
    check_config.add_arguments(check)
    asking = commands.add_parser("status", help="ask the daemon here", allow_abbrev=False)
    status.add_arguments(asking)
    checks = commands.add_parser("doctor", help="say what is wrong here", allow_abbrev=False)
    doctor.add_arguments(checks)
    _add_cloud(checks)
    drills = commands.add_parser("drill", help="would a job survive?", allow_abbrev=False)
    drill.add_arguments(drills)
    relaying = commands.add_parser("relay", help="read a cluster's queue", allow_abbrev=False)
    relay.add_arguments(relaying)
    queues = commands.add_parser("queue", help="make and remove nodes' queues", allow_abbrev=False)
    queue.add_arguments(queues)
    words = commands.add_parser("explain", help="say what a cloud's words mean", allow_abbrev=False)
    explain.add_arguments(words)
    simulate = commands.add_parser("simulate", help="play a cloud's metadata service on loopback")
    clouds = simulate.add_subparsers(dest="simulated", required=True, metavar="CLOUD")
    for name, simulated in SIMULATORS.items():
        simulator.add_arguments(clouds.add_parser(name, help=simulated.summary), name)
    return parser


def _add_run(commands: "argparse._SubParsersAction[_Parser]") -> None:
    run = commands.add_parser(
        "run",
        help="watch this node and act on notices",
        description=_RUN,
        epilog=_RUN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    run.add_argument("--config", type=Path, metavar="FILE", help="TOML file to read")
    _add_cloud(run)
    options = {
        "run_dir": ("--run-dir", "DIR", "where notice.json is written (/run/reprieve)"),
        "node": ("--node", "NAME", "this node's name (the host's)"),
        "faces.listen": ("--listen", "HOST:PORT", "probes and metrics (127.0.0.1:9765)"),
        "faces.notice_listen": ("--notice-listen", "HOST:PORT", "/v1/notice for pods (nowhere)"),
        "signal.pid_file": ("--signal-pid-file", "PATH", "whom to SIGTERM on a stop notice"),
        "log_format": ("--log-format", "/".join(LOG_FORMATS), "how log lines look"),
        "log_level": ("--log-level", "/".join(LOG_LEVELS), "least level that is logged"),
    }
    for key, (option, value, text) in options.items():
        run.add_argument(option, dest=key, metavar=value, help=text)
    run.add_argument(
        "--dry-run",
        action="store_const",
        const="true",
        help="say what would be done about a notice, and do none of it",
    )


def _add_cloud(command: argparse.ArgumentParser) -> None:
    """Add the options that say which cloud is asked, and where."""
    clouds = "/".join((AUTO, NONE, *CLOUDS))
    command.add_argument("--cloud", metavar=clouds, help="whose notices to hear (auto)")
    command.add_argument(
        "--metadata-endpoint",
        metavar="URL",
        help="where the cloud's metadata service is, whichever cloud (its own address)",
    )
