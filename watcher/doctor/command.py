"""The command itself: gathers the evidence, runs every check, and prints what they found."""

import argparse
import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from watcher import console, process
from watcher.cloud import NONE, NOTHING_BESIDE, Cloud, find_cloud
from watcher.config import Config
from watcher.doctor import limits, run_directory
from watcher.finding import Finding, Verdict, ok, unknown, wrong
from watcher.sources import ROADS
from watcher.sources.road import Patient, Road
from watcher.sources.trainer_requests import TrainerRequestsConfig

DESCRIPTION = """\
Ask the cloud what the daemon would ask, once, look at the run directory, and say what is wrong and
what to do about it. Nothing is changed. Run it where the daemon runs: in its pod, or as its user on
the node."""

_NAME_IT = "name the cloud (REPRIEVE_CLOUD, or cloud in the file), and ask again"
_SILENT = "let this node reach it: a firewall, a NetworkPolicy or a proxy may be in the way"

EPILOG = """\
each line: what was checked, what was found, and after an arrow what to do; folded on a terminal

exit status: 0 nothing is wrong, 1 something is, 78 a setting is wrong"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `doctor` takes, and the help that explains it, to ``parser``."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file to read")
    parser.add_argument("--run-dir", metavar="DIR", help="the run directory (/run/reprieve)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(config: Config, *, as_json: bool) -> int:
    """Print the findings for these settings, and return the exit status."""
    findings = asyncio.run(findings_of(config, os.environ))
    is_wrong = any(finding.verdict is Verdict.WRONG for finding in findings)
    if as_json:
        document = {"healthy": not is_wrong, "findings": [asdict(one) for one in findings]}
        console.show(json.dumps(document, indent=2) + "\n")
    else:
        width = console.width()
        said = [str(one) if width is None else one.wrapped(width) for one in findings]
        console.show("".join(f"{one}\n" for one in said))
    return 1 if is_wrong else os.EX_OK


async def findings_of(config: Config, environment: Mapping[str, str]) -> Sequence[Finding]:
    """Return what every check has found, from the cloud to the time that trainers take to stop.

    Raises:
        ConfigError: A setting contradicts ``cloud = auto``, or a road lacks what it needs.
    """
    cloud = await find_cloud(config)
    boot_id = await asyncio.to_thread(_boot_id)
    patient = Patient(environment=environment, node=config.node, boot_id=boot_id)
    found = [_which(cloud, config)]
    for road in ROADS.values():
        if road.cloud in (None, cloud.name):
            found += await _of_road(road, config, patient)
    is_heard = bool(config.of(TrainerRequestsConfig).uids)
    found += await asyncio.to_thread(
        run_directory.checks, config.run_dir, is_request_heard=is_heard
    )
    return [*found, *await limits.checks(config, cloud, patient.boot_id)]


def _which(cloud: Cloud, config: Config) -> Finding:
    """Judge whether it is known which cloud this is."""
    found = f"{cloud.name}: {cloud.why}"
    if cloud.is_silent:
        return wrong("cloud", found, _SILENT)
    beside = any(
        road.wanted(config.of(road.settings)) for road in ROADS.values() if road.cloud is None
    )
    if cloud.name == NONE and not beside:
        todo = NOTHING_BESIDE if config.cloud == NONE else _NAME_IT
        return wrong("cloud", found, todo)
    return ok("cloud", found)


async def _of_road(road: Road[Any], config: Config, patient: Patient) -> Sequence[Finding]:
    settings = config.of(road.settings)
    if road.checks is not None:
        return await road.checks(settings, patient)
    if road.wanted(settings):
        return [unknown(road.section, "not asked here; `status` says whether the daemon hears it")]
    return []


def _boot_id() -> str:
    try:
        return process.boot_id()
    except OSError:
        return ""
