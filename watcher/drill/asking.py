"""Asks the daemon on this node for a drill, through its socket that is root's alone."""

import json
import socket
from pathlib import Path
from typing import Any

from watcher.errors import ConfigError, StartFailed

_LIMIT_S = 5.0
_ANSWER_BYTES = 4096


def ask(path: Path | None, **question: object) -> dict[str, Any]:
    """Return the daemon's answer; blocks.

    Raises:
        ConfigError: There is no socket, or we may not use it.
        StartFailed: The daemon does not answer, or refuses.
    """
    if path is None:
        raise ConfigError(
            "no drill.socket is set, at which the daemon on this node could be asked; a job is "
            "tried on a simulated node by: reprieve-watcher drill -- COMMAND"
        )
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(_LIMIT_S)
            end.connect(str(path))
            end.sendall(json.dumps(question).encode() + b"\n")
            with end.makefile("rb") as answer:
                said = json.loads(answer.readline(_ANSWER_BYTES))
    except PermissionError as error:
        raise ConfigError(f"{path}: only root may ask for a drill (sudo)") from error
    except (OSError, ValueError) as error:
        raise StartFailed(f"{path}: the daemon does not answer: {error}") from error
    if not isinstance(said, dict) or "refused" in said:
        why = said.get("refused") if isinstance(said, dict) else said
        raise StartFailed(f"the daemon refuses: {why!s:.200}")
    return said
