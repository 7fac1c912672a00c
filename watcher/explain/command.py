"""`reprieve-watcher explain`: what an answer, a message, a Node or a program's line means to us.

The parsers' own face, for people who wonder why something happened, or nothing: the same functions
that the daemon calls, on a body from a file, without a cloud.
"""

import argparse
import difflib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from watcher import console
from watcher.errors import ConfigError, SourceMalformed
from watcher.explain.answer import Asked, Told
from watcher.explain.bodies import BODIES
from watcher.notice import Moment, rfc3339
from watcher.policy import Policy, stand
from watcher.settings import load
from watcher.sources.aws_messages.envelope import MESSAGE_LIMIT_BYTES
from watcher.sources.aws_times import any_instant

DESCRIPTION = """\
Say what a cloud's answer or message, a Node or a program's line means to the watcher, as one JSON
object: {"notices": [...]}, {"ignored": "why"} or {"refused": "why"}."""

EXAMPLES = """\
example: what would this answer have done at ten o'clock?

  echo '{"action": "terminate", "time": "2026-11-30T10:02:00Z"}' |
    reprieve-watcher explain aws-imds-spot - --now 2026-11-30T10:00:00Z

and the next message of a queue, which stays there:

  aws sqs receive-message --queue-url URL --query 'Messages[0].Body' --output text |
    reprieve-watcher explain aws-sqs -

exit status: 0 notices or ignored, 1 refused, 78 no such source or file, or nothing to print to"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `explain` takes, and the help that teaches it, to ``parser``."""
    parser.description = DESCRIPTION
    parser.epilog = f"sources:\n{_listed()}\n{EXAMPLES}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("source", metavar="SOURCE", help="whose body it is, see below")
    parser.add_argument("file", metavar="FILE", help="the body as it came; - is standard input")
    asks = "the instance that asks; in Azure the machine, by its name"
    parser.add_argument("--instance-id", "--vm-name", metavar="ID", help=asks)
    parser.add_argument("--received-at", metavar="TIME", help="when the body arrived (now)")
    parser.add_argument("--now", metavar="TIME", help="from when on time is left (the clock)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, with their policy")


def _listed() -> str:
    width = max(map(len, BODIES)) + 4
    return "".join(
        f"  {name}".ljust(width) + body.what.replace("\n", "\n" + " " * width) + "\n"
        for name, body in BODIES.items()
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what the body means, and return the exit status.

    Raises:
        ConfigError: There is no such source or file, or a time can't be read.
    """
    if arguments.source not in BODIES:
        nearest = difflib.get_close_matches(arguments.source, BODIES, n=1, cutoff=0.0)[0]
        raise ConfigError(f"unknown source {arguments.source}; the nearest known one is {nearest}")
    now = _time(arguments.now, "--now") or datetime.now(UTC)
    received = Moment(_time(arguments.received_at, "--received-at") or now, 0.0)
    left_from = Moment(now, (now - received.wall).total_seconds())
    asked = Asked(received=received, instance_id=arguments.instance_id)
    try:
        answer = BODIES[arguments.source].explain(_body(arguments.file), asked)
    except SourceMalformed as error:
        return _print({"refused": str(error)}, status=1)
    if isinstance(answer, str):
        return _print({"ignored": answer}, status=os.EX_OK)
    policy = load(arguments.config, os.environ, {}).config.policy
    return _print(
        {"notices": [_shown(told, left_from, policy) for told in answer]}, status=os.EX_OK
    )


def _shown(told: Told, left_from: Moment, policy: Policy) -> dict[str, object]:
    notice, standing = told.notice, stand(told.notice, policy)
    planned = standing.acts_from if not standing.is_due(notice.received) else None
    return {
        "id": notice.id,
        "kind": notice.kind,
        "urgency": standing.urgency,
        "source": notice.source,
        "instance_id": notice.instance_id,
        "action": notice.action,
        "received_at": rfc3339(notice.received.wall),
        "acts_from": rfc3339((planned or notice.received).wall),
        "deadline": rfc3339(notice.deadline.wall) if notice.deadline else None,
        "counts_until": rfc3339(standing.counts_until.wall),
        "left_s": standing.counts_until.left_s(left_from),
        "detail": dict(notice.detail),
        **told.addressee,
    }


def _print(answer: Mapping[str, object], *, status: int) -> int:
    console.show(json.dumps(answer, indent=2) + "\n")
    return status


def _body(file: str) -> bytes:
    """Read one byte more than the largest message has, so that too large is seen as such."""
    if file == "-":
        return console.read(MESSAGE_LIMIT_BYTES + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(MESSAGE_LIMIT_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error


def _time(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    read = any_instant(text)
    if read is None:
        raise ConfigError(f"{option} {text}: write it like 2026-11-30T10:07:06Z")
    return read
