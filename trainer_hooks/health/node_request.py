"""Asks the watcher on this node for another node, in ``requests/<id>.json`` of the run directory.

The watcher heeds it only if it was told to, for this process's user, and once in a boot and a day.
"""

import json
import logging
import os
from pathlib import Path

from trainer_hooks.clock import boot_id, boottime_s
from trainer_hooks.flag import run_directory
from trainer_hooks.health.finding import Finding

log = logging.getLogger(__name__)

DIRECTORY = "requests"

TEXT_LIMIT = 500
"""Characters of a reason; the watcher refuses more."""

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def ask_for_another_node(finding: Finding, directory: Path | None = None) -> None:
    """Ask for another node because of what was found here; say so, or why not, in the log.

    Args:
        finding: It concerns a rank on this node.
        directory: Where to; None stands for the run directory's.
    """
    directory = run_directory() / DIRECTORY if directory is None else directory
    boot = boot_id()
    if boot is None:
        log.warning("another node is not asked for: this system hides which boot it is")
        return
    path = directory / f"r-{finding.guard}-{os.getpid()}.json"
    draft = directory / f".{path.name}.new"
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, _OPEN, 0o644), "wb") as file:
            file.write(compose(finding, boot, boottime_s()))
        draft.replace(path)
    except OSError as error:
        log.warning("another node is not asked for: %s", error)
        return
    log.warning("asked the watcher for another node: %s", path)


def compose(finding: Finding, boot: str, made_s: float) -> bytes:
    """Return the file's content, schema 1."""
    document = {
        "schema": 1,
        "boot_id": boot,
        "made_boottime_s": made_s,
        "ask": "replace_node",
        "reason": finding.guard,
        "text": finding.text[:TEXT_LIMIT],
    }
    return json.dumps(document, indent=2).encode() + b"\n"
