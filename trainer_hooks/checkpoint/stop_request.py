"""A user's request that a run stops, left beside its checkpoints, where every node sees it.

::

    root/.stops/a17.asked     somebody wants the 17th attempt to stop, and perhaps says why
    root/.stops/a17.heard     it has heard of that, and at which step it was

A request is for one attempt: whoever starts the job again does not stop at once, and nobody has to
take anything back. The name alone is the claim; what is inside is for people.
"""

import json
import re

from trainer_hooks.checkpoint.commit import newest_attempt
from trainer_hooks.checkpoint.durable import write_file
from trainer_hooks.checkpoint.layout import ATTEMPTS
from trainer_hooks.checkpoint.place import Place, is_there, read_json
from trainer_hooks.errors import CheckpointError, UntrustedFileError
from trainer_hooks.untrusted import Json

FOLDER = ".stops"

REASON_LIMIT = 500
"""Characters of a reason."""

_MAX_BYTES = 16 * 1024
_NAME = re.compile(r"a(\d{1,18})\.(asked|heard)", re.ASCII)


def attempt_to_ask(root: Place) -> int:
    """Return the number of the newest attempt, the only one that can be under way.

    Raises:
        CheckpointError: No attempt was ever made there, or it cannot be told.
    """
    number = newest_attempt(root) if (root / ATTEMPTS).is_dir() else 0
    if number == 0:
        raise CheckpointError(
            f"no run has ever begun in {root}: name the directory that the job calls checkpoint_dir"
        )
    return number


def ask(root: Place, attempt: int, reason: str) -> None:
    """Ask an attempt to stop.

    Raises:
        CheckpointError: The request cannot be written.
    """
    _write(root, f"a{attempt}.asked", {"schema": 1, "reason": reason[:REASON_LIMIT]})


def asked(root: Place, attempt: int) -> str | None:
    """Return why an attempt is asked to stop, "" where nobody has said; None if it is not asked.

    Raises:
        CheckpointError: It cannot be told.
    """
    body = _read(root, f"a{attempt}.asked")
    if body is None:
        return None
    reason = body.get("reason")
    return reason[:REASON_LIMIT] if isinstance(reason, str) else ""


def confirm(root: Place, attempt: int, step: int) -> None:
    """Leave word that an attempt has heard that it is to stop.

    Raises:
        CheckpointError: That cannot be written.
    """
    _write(root, f"a{attempt}.heard", {"schema": 1, "step": step})


def heard_at(root: Place, attempt: int) -> int | None:
    """Return the step at which an attempt has heard of the request; None while it has not.

    Raises:
        CheckpointError: It cannot be told.
    """
    body = _read(root, f"a{attempt}.heard")
    if body is None:
        return None
    step = body.get("step")
    return step if isinstance(step, int) else 0


def withdraw(root: Place, attempt: int) -> None:
    """Take back a request that nobody has heard.

    Raises:
        CheckpointError: It cannot be removed.
    """
    try:
        (root / FOLDER / f"a{attempt}.asked").unlink(missing_ok=True)
    except OSError as error:
        raise CheckpointError(f"the request cannot be taken back: {error}") from error


def forget_before(root: Place, attempt: int) -> None:
    """Remove what was asked of earlier attempts.

    Raises:
        CheckpointError: It cannot be removed.
    """
    try:
        paths: list[Place] = list((root / FOLDER).iterdir())
        for path in paths:
            match = _NAME.fullmatch(path.name)
            if match is not None and int(match[1]) < attempt:
                path.unlink(missing_ok=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise CheckpointError(f"{root / FOLDER} cannot be cleared: {error.strerror}") from error


def _read(root: Place, name: str) -> dict[str, Json] | None:
    path = root / FOLDER / name
    if not is_there(path):
        return None
    try:
        return read_json(path, max_bytes=_MAX_BYTES)
    except (OSError, UntrustedFileError):
        # Whatever it is, somebody has put it there by this name; or has just taken it back.
        return {} if is_there(path) else None


def _write(root: Place, name: str, body: dict[str, Json]) -> None:
    path = root / FOLDER / name
    try:
        path.parent.mkdir(exist_ok=True)
        write_file(path, json.dumps(body).encode())
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error.strerror}") from error
