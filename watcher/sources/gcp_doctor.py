"""What `reprieve-watcher doctor` asks Google Cloud: the metadata server, and the APIs beside it.

The words for each cause are those of the log and of /readyz, so that a search finds both.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from time import CLOCK_BOOTTIME, clock_gettime

from watcher.errors import GcpCallFailed
from watcher.finding import Finding, Verdict, ok, unknown, wrong
from watcher.gcp.metadata import FLAVOR, NAME, ROOT, ZONE, GcpMetadata, is_signed
from watcher.gcp.rest import API_LIMIT_S, GoogleApi
from watcher.httpclient import Answer, HttpClient
from watcher.notice import Moment
from watcher.sources import tried
from watcher.sources.gcp_compute import RIGHTS
from watcher.sources.gcp_config import GcpConfig
from watcher.sources.gcp_instance import FIELDS
from watcher.sources.gcp_keys import HIDDEN
from watcher.sources.gcp_preemption import EVENT, PREEMPTED
from watcher.sources.gcp_session import FORBIDDEN, NOT_GOOGLE, UNREACHABLE
from watcher.sources.gcp_vm import MACHINE_TYPE, PREEMPTIBLE
from watcher.sources.road import Patient
from watcher.sources.tried import Tried, ask, outcome_of, shown, status_of, text_of

_CLOCK_TODO = "let chrony or ntpd follow Google's own time server, metadata.google.internal"
_AGAIN = (
    "ask again, and if it stays so, look at what stands between this VM and its metadata server; "
    "until then this node hears no notice by this road"
)
_PULL = "pubsub.subscriptions.consume"
_PULL_TODO = (
    f"give the VM's service account {_PULL} on the subscription (roles/pubsub.subscriber; "
    "deploy/gcp has a narrower one), and the VM the scope pubsub or cloud-platform"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpEvidence:
    """The answers, and when the first question was sent by this machine's clock."""

    config: GcpConfig
    asked_at: datetime
    preempted: Tried
    event: Tried
    facts: Mapping[str, Tried]
    """By the path of each fact about the VM."""


async def checks(config: GcpConfig, _patient: Patient) -> Sequence[Finding]:
    """Return what every check of Google Cloud's roads has found."""
    found: list[Finding] = []
    if config.metadata == "off":
        found.append(unknown("metadata server", "switched off by gcp.metadata, so not asked"))
    else:
        found += judged(await examine(config))
    if config.asks_compute or config.subscription is not None:
        found += await _of_apis(config)
    return found


async def examine(config: GcpConfig) -> GcpEvidence:
    """Ask the metadata server; takes no longer than six times the limit of a call."""
    async with HttpClient(config.metadata_endpoint, config.metadata_limit_s) as client:
        asked_at = datetime.now(UTC)
        preempted, event = [
            await ask(client, "GET", ROOT + path, FLAVOR) for path in (PREEMPTED, EVENT)
        ]
        facts = {
            path: await ask(client, "GET", ROOT + path, FLAVOR)
            for path in (NAME, ZONE, MACHINE_TYPE, PREEMPTIBLE)
        }
    return GcpEvidence(
        config=config, asked_at=asked_at, preempted=preempted, event=event, facts=facts
    )


def judged(evidence: GcpEvidence) -> list[Finding]:
    """Return what the answers come to, in the order in which one would ask."""
    way_in = [_reachable(evidence), _answers(evidence)]
    is_above = any(one.verdict is Verdict.WRONG for one in way_in)
    return [
        *way_in,
        tried.clock(evidence.preempted, evidence.asked_at, whose="Google", todo=_CLOCK_TODO),
        _preempted(evidence.preempted, is_above=is_above),
        _event(evidence.event, is_above=is_above),
        _vm(evidence.facts),
    ]


def _reachable(evidence: GcpEvidence) -> Finding:
    checked = f"metadata server at {evidence.config.metadata_endpoint}"
    if outcome_of(evidence.preempted) == "unreachable":
        return wrong(checked, str(evidence.preempted), UNREACHABLE)
    return ok(checked, "accepts connections")


def _answers(evidence: GcpEvidence) -> Finding:
    """Check that Google's own server answers, and lets us in."""
    checked, first = "metadata server's answers", evidence.preempted
    if not isinstance(first, Answer):
        if outcome_of(first) == "unreachable":
            return unknown(checked, "no answer to judge by")
        return wrong(checked, shown(first), _AGAIN)
    if first.status == 403:
        return wrong(checked, "HTTP 403", FORBIDDEN)
    if not is_signed(first):
        return wrong(checked, f"HTTP {first.status}, not signed", NOT_GOOGLE)
    return ok(checked, "are Google's")


def _preempted(one: Tried, *, is_above: bool) -> Finding:
    checked = "preemption notices"
    if not is_above and text_of(one) == "TRUE":
        return ok(checked, "can be read; one is in force")
    if not is_above and text_of(one) == "FALSE":
        return ok(checked, "can be read; none is in force")
    why = HIDDEN if status_of(one) == 404 else _AGAIN
    return wrong(checked, f"can't be read: {shown(one)}", "see above" if is_above else why)


def _event(one: Tried, *, is_above: bool) -> Finding:
    checked = "maintenance notices"
    if is_above:
        return wrong(checked, f"can't be read: {shown(one)}", "see above")
    if status_of(one) == 404:
        return ok(checked, "this VM has no such key, as some without GPUs have not")
    said = text_of(one)
    if not said:
        return wrong(checked, f"can't be read: {shown(one)}", _AGAIN)
    return ok(checked, f"can be read; {'none is' if said == 'NONE' else said + ' is'} in force")


def _vm(facts: Mapping[str, Tried]) -> Finding:
    """Show which VM this is, so that a person sees whether it is the one that was meant."""
    words = [text_of(facts[path]).rpartition("/")[2] for path in (NAME, ZONE, MACHINE_TYPE)]
    if text_of(facts[PREEMPTIBLE]) == "TRUE":
        words.append("Spot or preemptible")
    known = [word for word in words if word]
    if not known:
        return unknown("VM", f"unknown: {shown(facts[NAME])}")
    return ok("VM", ", ".join(known))


async def _of_apis(config: GcpConfig) -> list[Finding]:
    async with AsyncExitStack() as stack:

        async def client(endpoint: str, limit_s: float) -> HttpClient:
            return await stack.enter_async_context(HttpClient(endpoint, limit_s))

        metadata = GcpMetadata(
            await client(config.metadata_endpoint, config.metadata_limit_s), _now
        )
        found = []
        if config.asks_compute:
            compute = GoogleApi(await client(config.compute_endpoint, API_LIMIT_S), metadata)
            found.append(await _compute(compute, metadata, is_asked=config.compute == "on"))
        if config.subscription is not None:
            pubsub = GoogleApi(await client(config.pubsub_endpoint, API_LIMIT_S), metadata)
            found.append(await _subscription(pubsub, config.subscription))
        return found


async def _compute(api: GoogleApi, metadata: GcpMetadata, *, is_asked: bool) -> Finding:
    """Check that the Compute API tells of this VM; a must only where it is asked for."""
    checked = "Compute API"
    try:
        me = await metadata.identity()
        path = f"/compute/v1/projects/{me.project}/zones/{me.zone}/instances/{me.name}"
        await api.call("GET", f"{path}?fields={FIELDS}")
    except GcpCallFailed as error:
        if is_asked:
            return wrong(checked, str(error), RIGHTS)
        return unknown(checked, f"{error}; {RIGHTS}")
    return ok(checked, "tells of this VM")


async def _subscription(api: GoogleApi, name: str) -> Finding:
    """Check the right to pull, without a pull: that would take a message."""
    checked = "right to the subscription"
    try:
        said = await api.call("POST", f"/v1/{name}:testIamPermissions", {"permissions": [_PULL]})
    except GcpCallFailed as error:
        return wrong(checked, str(error), _PULL_TODO)
    if _PULL not in said.get("permissions", ()):
        return wrong(checked, "the subscription is there, and this VM may not pull", _PULL_TODO)
    return ok(checked, "messages may be pulled")


def _now() -> Moment:
    return Moment(datetime.now(UTC), clock_gettime(CLOCK_BOOTTIME))
