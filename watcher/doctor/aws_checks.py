"""The checks of AWS's metadata service: each judges the same evidence, and is pure.

The words for each cause are those of the log and of /readyz, so that a search finds both.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from watcher.doctor.aws_evidence import AwsEvidence, Tried
from watcher.doctor.finding import Finding, ok, unknown, wrong
from watcher.errors import SourceMalformed
from watcher.httpclient import Answer
from watcher.sources.aws_diagnosis import (
    FORWARDED,
    HOP_LIMIT,
    NOT_EC2,
    SWITCHED_OFF,
    UNREACHABLE,
    V1_FORBIDDEN,
    why_no_token,
)
from watcher.sources.aws_instance import parse_identity, parse_instance_id
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import decoded

CLOCK_LIMIT_S = 5.0
"""Seconds that this clock may be off: a deadline is as wrong as the clock it is told by."""

_PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_CLOCK_TODO = "let chrony or ntpd follow EC2's own time server at 169.254.169.123"


def reachable(evidence: AwsEvidence) -> Finding:
    """Check that something at the endpoint accepts a connection."""
    checked = f"metadata service at {evidence.config.metadata_endpoint}"
    if _outcome(evidence.token) == "unreachable":
        return wrong(checked, str(evidence.token), UNREACHABLE)
    return ok(checked, "accepts connections")


def switched_on(evidence: AwsEvidence) -> Finding:
    """Check that the instance's metadata options let anybody in."""
    checked = "metadata options"
    if _status(evidence.token) == _status(evidence.bare) == 403:
        return wrong(checked, "403 to everything", SWITCHED_OFF)
    if not evidence.answers():
        return unknown(checked, "no answer to judge by")
    return ok(checked, "the service is switched on")


def token(evidence: AwsEvidence) -> Finding:
    """Check that there is a way in: a token, or none needed."""
    checked, status = "token (IMDSv2)", _status(evidence.token)
    if status == 200:
        return ok(checked, "is granted")
    if _outcome(evidence.token) == "timeout":
        return wrong(checked, str(evidence.token), HOP_LIMIT)
    if status not in (403, 404, 405):
        return unknown(checked, f"no answer to judge by: {_shown(evidence.token)}")
    if _is_ec2_without_token(evidence):
        if evidence.config.metadata_v1 == "on":
            return ok(checked, f"there is none (HTTP {status}); IMDSv1 is used")
        return wrong(checked, f"HTTP {status}", V1_FORBIDDEN)
    return wrong(checked, f"HTTP {status}", why_no_token(status, _status(evidence.bare) or 0))


def proxy(evidence: AwsEvidence) -> Finding:
    """Check that nobody on the way speaks in EC2's place."""
    checked = "proxy on the way"
    if (_status(evidence.token), _status(evidence.bare)) == (403, 401):
        return wrong(checked, "a token is refused, and demanded", FORWARDED)
    answers = evidence.answers()
    if not answers:
        return unknown(checked, "no answer to judge by")
    via = [answer.headers["Via"] for answer in answers if "Via" in answer.headers]
    if via:
        return wrong(checked, f"answers come via {via[0]!r:.80}", FORWARDED)
    if any(answer.status // 100 == 3 for answer in answers) or _is_page(evidence.token):
        return wrong(checked, "a page or a redirect in the place of an answer", NOT_EC2)
    names = [name for name in _PROXIES if evidence.environment.get(name)]
    if names:
        return ok(checked, f"none; {names[0]} is set, and this daemon goes past it")
    return ok(checked, "none")


def clock(evidence: AwsEvidence) -> Finding:
    """Check this machine's clock against EC2's: the Date of an answer, else when it was started."""
    checked = "clock"
    date = _date(evidence.token)
    if date is None:
        started = _started(evidence.identity)
        if started is None:
            return unknown(checked, "EC2 has told no time")
        if evidence.asked_at < started:
            behind = f"{(started - evidence.asked_at).total_seconds():.0f} s"
            return wrong(checked, f"{behind} before the instance was started", _CLOCK_TODO)
        return ok(checked, "not before the instance was started; EC2 has told no other time")
    off_s = (evidence.asked_at - date).total_seconds()
    # A Date has whole seconds, cut off, and answers take a while: up to a second is not the clock.
    if abs(off_s) <= CLOCK_LIMIT_S + 1:
        return ok(checked, f"within {CLOCK_LIMIT_S:.0f} s of EC2's")
    where = "ahead of" if off_s > 0 else "behind"
    return wrong(checked, f"{abs(off_s):.0f} s {where} EC2's", _CLOCK_TODO)


def spot(evidence: AwsEvidence) -> Finding:
    """Check that the one key that matters most gives a usable answer."""
    checked, status = "Spot notices", _status(evidence.spot)
    if status == 404:
        return ok(checked, "can be read; none is in force")
    if status == 200:
        return ok(checked, "can be read; one is in force")
    todo = "see above; until then this node hears no notice by this road"
    return wrong(checked, f"can't be read: {_shown(evidence.spot)}", todo)


def identity(evidence: AwsEvidence) -> Finding:
    """Show which instance this is, so that a person sees whether it is the one that was meant."""
    checked = "instance"
    facts = _identity(evidence.identity)
    if not facts:
        return unknown(checked, f"no identity document: {_shown(evidence.identity)}")
    return ok(checked, ", ".join(facts.values()))


CHECKS: tuple[Callable[[AwsEvidence], Finding], ...] = (
    reachable,
    switched_on,
    token,
    proxy,
    clock,
    spot,
    identity,
)
"""In the order in which one would ask: each is moot if one before it has failed."""


def _status(tried: Tried) -> int | None:
    return tried.status if isinstance(tried, Answer) else None


def _outcome(tried: Tried) -> str:
    return "" if isinstance(tried, Answer) else tried.outcome


def _shown(tried: Tried) -> str:
    return f"HTTP {tried.status}" if isinstance(tried, Answer) else str(tried)


def _is_ec2_without_token(evidence: AwsEvidence) -> bool:
    bare = evidence.bare
    if not isinstance(bare, Answer) or bare.status != 200:
        return False
    return parse_instance_id(bare.body) is not None


def _is_page(tried: Tried) -> bool:
    return isinstance(tried, Answer) and tried.status == 200 and b"<" in tried.body


def _date(tried: Tried) -> datetime | None:
    try:
        text = tried.headers["Date"] if isinstance(tried, Answer) else ""
        return parsedate_to_datetime(text).astimezone(UTC)
    except (KeyError, ValueError, OverflowError):
        return None


def _identity(tried: Tried) -> dict[str, str]:
    try:
        return parse_identity(tried.body) if isinstance(tried, Answer) else {}
    except SourceMalformed:
        return {}


def _started(tried: Tried) -> datetime | None:
    """Return the document's pendingTime, which lies before everything that the instance does."""
    try:
        document = decoded(tried.body, "identity") if isinstance(tried, Answer) else None
    except SourceMalformed:
        return None
    return rfc3339_instant(document.get("pendingTime")) if isinstance(document, dict) else None
