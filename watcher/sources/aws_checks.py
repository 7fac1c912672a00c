"""The checks of AWS's metadata service: each judges the same evidence, and is pure.

The words for each cause are those of the log and of /readyz, so that a search finds both.
"""

from collections.abc import Callable
from datetime import datetime

from watcher.errors import SourceMalformed
from watcher.finding import Finding, Verdict, ok, unknown, wrong
from watcher.httpclient import Answer
from watcher.sources import tried
from watcher.sources.aws_diagnosis import (
    FORWARDED,
    HOP_LIMIT,
    NOT_EC2,
    SWITCHED_OFF,
    UNREACHABLE,
    V1_FORBIDDEN,
    why_no_token,
)
from watcher.sources.aws_evidence import AwsEvidence
from watcher.sources.aws_instance import parse_identity, parse_instance_id
from watcher.sources.times import rfc3339_instant
from watcher.sources.tried import Tried, date_of, outcome_of, shown, status_of
from watcher.sources.words import decoded

_PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_KEY_ALONE = (
    "all else is answered, so it is this key alone: ask again, and if it stays so, look at what "
    "stands between this node and EC2's own service"
)
_CLOCK_TODO = "let chrony or ntpd follow EC2's own time server at 169.254.169.123"


def reachable(evidence: AwsEvidence) -> Finding:
    """Check that something at the endpoint accepts a connection."""
    checked = f"metadata service at {evidence.config.metadata_endpoint}"
    if outcome_of(evidence.token) == "unreachable":
        return wrong(checked, str(evidence.token), UNREACHABLE)
    return ok(checked, "accepts connections")


def switched_on(evidence: AwsEvidence) -> Finding:
    """Check that the instance's metadata options let anybody in."""
    checked = "metadata options"
    if status_of(evidence.token) == status_of(evidence.bare) == 403:
        return wrong(checked, "403 to everything", SWITCHED_OFF)
    if not evidence.answers():
        return unknown(checked, "no answer to judge by")
    return ok(checked, "the service is switched on")


def token(evidence: AwsEvidence) -> Finding:
    """Check that there is a way in: a token, or none needed."""
    checked, status = "token (IMDSv2)", status_of(evidence.token)
    if status == 200:
        return ok(checked, "is granted")
    if outcome_of(evidence.token) == "timeout":
        return wrong(checked, str(evidence.token), HOP_LIMIT)
    if status not in (403, 404, 405):
        return unknown(checked, f"no answer to judge by: {shown(evidence.token)}")
    if _is_ec2_without_token(evidence):
        if evidence.config.metadata_v1 == "on":
            return ok(checked, f"there is none (HTTP {status}); IMDSv1 is used")
        return wrong(checked, f"HTTP {status}", V1_FORBIDDEN)
    return wrong(checked, f"HTTP {status}", why_no_token(status, status_of(evidence.bare) or 0))


def proxy(evidence: AwsEvidence) -> Finding:
    """Check that nobody on the way speaks in EC2's place."""
    checked = "proxy on the way"
    if (status_of(evidence.token), status_of(evidence.bare)) == (403, 401):
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
    if date_of(evidence.token) is not None:
        return tried.clock(evidence.token, evidence.asked_at, whose="EC2", todo=_CLOCK_TODO)
    started = _started(evidence.identity)
    if started is None:
        return unknown(checked, "EC2 has told no time")
    if evidence.asked_at < started:
        behind = f"{(started - evidence.asked_at).total_seconds():.0f} s"
        return wrong(checked, f"{behind} before the instance was started", _CLOCK_TODO)
    return ok(checked, "not before the instance was started; EC2 has told no other time")


def spot(evidence: AwsEvidence) -> Finding:
    """Check that the one key that matters most gives a usable answer."""
    checked, status = "Spot notices", status_of(evidence.spot)
    if status == 404:
        return ok(checked, "can be read; none is in force")
    if status == 200:
        return ok(checked, "can be read; one is in force")
    # What keeps every answer away has been named by the checks before this one.
    ways_in = (reachable, switched_on, token, proxy)
    is_above = any(check(evidence).verdict is Verdict.WRONG for check in ways_in)
    cause = "see above" if is_above else _KEY_ALONE
    todo = f"{cause}; until then this node hears no notice by this road"
    return wrong(checked, f"can't be read: {shown(evidence.spot)}", todo)


def identity(evidence: AwsEvidence) -> Finding:
    """Show which instance this is, so that a person sees whether it is the one that was meant."""
    checked = "instance"
    facts = _identity(evidence.identity)
    if not facts:
        return unknown(checked, f"no identity document: {shown(evidence.identity)}")
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


def _is_ec2_without_token(evidence: AwsEvidence) -> bool:
    bare = evidence.bare
    if not isinstance(bare, Answer) or bare.status != 200:
        return False
    return parse_instance_id(bare.body) is not None


def _is_page(one: Tried) -> bool:
    return isinstance(one, Answer) and one.status == 200 and b"<" in one.body


def _identity(one: Tried) -> dict[str, str]:
    try:
        return parse_identity(one.body) if isinstance(one, Answer) else {}
    except SourceMalformed:
        return {}


def _started(one: Tried) -> datetime | None:
    """Return the document's pendingTime, which lies before everything that the instance does."""
    try:
        document = decoded(one.body, "identity") if isinstance(one, Answer) else None
    except SourceMalformed:
        return None
    return rfc3339_instant(document.get("pendingTime")) if isinstance(document, dict) else None
