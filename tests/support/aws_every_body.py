"""Every body of AWS's in tests/data, and one way to read any of them."""

from datetime import datetime

from tests.support.aws_bodies import DATA, RECEIVED
from watcher.explain.answer import Asked
from watcher.explain.bodies import BODIES
from watcher.notice import Notice
from watcher.sources.aws_imds_spot import parse_termination_time

NODE = "i-0beef000000000001"

IMDS_BODIES = sorted(path.name for path in (DATA / "imds").iterdir())
EVERY_BODY = [
    *(f"imds/{name}" for name in IMDS_BODIES),
    *sorted(path.name for path in DATA.glob("*.json")),
]

Meaning = tuple[tuple[str, datetime | None], ...] | None
"""Id and deadline of each notice; None for a body that announces nothing."""


def content(name: str) -> bytes:
    """Return a body as it came."""
    return (DATA / name).read_bytes()


def notices(name: str, body: bytes) -> tuple[Notice, ...]:
    """Read a body as the source reads it that the file is from; none where it is ignored.

    Raises:
        SourceMalformed: It is refused.
    """
    asked = Asked(received=RECEIVED, instance_id=NODE if name.startswith("imds/") else None)
    if name == "imds/termination-time.txt":
        found = parse_termination_time(body, RECEIVED, NODE)
        return (found,) if found else ()
    answer = BODIES[_kind(name)].explain(body, asked)
    return () if isinstance(answer, str) else tuple(told.notice for told in answer)


def meaning(name: str, body: bytes) -> Meaning:
    """Return what a body comes to, for comparison.

    Raises:
        SourceMalformed: It is refused.
    """
    found = notices(name, body)
    return tuple((one.id, one.deadline.wall if one.deadline else None) for one in found) or None


def _kind(name: str) -> str:
    if not name.startswith("imds/"):
        return "aws-sqs"
    return "aws-imds-" + name.removeprefix("imds/").partition("-")[0].partition(".")[0]


def upper_case_keys(data: object) -> object:
    """Return JSON data with every key in capitals."""
    if isinstance(data, dict):
        return {key.upper(): upper_case_keys(value) for key, value in data.items()}
    return [upper_case_keys(value) for value in data] if isinstance(data, list) else data
