"""Google's bodies in tests/data/gcp, as they are and with one value changed."""

import json
from pathlib import Path
from typing import Any

from tests.support.clocks import START
from watcher.notice import Moment

DATA = Path(__file__).parents[1] / "data/gcp"
RECEIVED = Moment(START.wall, START.boottime_s)
ABSENT = object()


def body(name: str) -> bytes:
    """Return a body as it came."""
    return (DATA / f"{name}.json").read_bytes()


def said(name: str) -> dict[str, Any]:
    """Return what a body says."""
    found: dict[str, Any] = json.loads(body(name))
    return found


def changed(name: str, path: str, value: object) -> dict[str, Any]:
    """Return what a body says with the value at ``path`` replaced, or left out."""
    message = place = said(name)
    *above, last = path.split("/")
    for key in above:
        place = place[key]
    if value is ABSENT:
        del place[last]
    else:
        place[last] = value
    return message
