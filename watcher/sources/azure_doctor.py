"""What `reprieve-watcher doctor` asks Azure: the metadata service and its Scheduled Events.

The words for each cause are those of the log and of /readyz, so that a search finds both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import CLOCK_BOOTTIME, clock_gettime

from watcher.errors import SourceMalformed
from watcher.finding import Finding, Verdict, ok, unknown, wrong
from watcher.httpclient import Answer, HttpClient
from watcher.notice import Moment
from watcher.sources import tried
from watcher.sources.azure_config import AzureConfig
from watcher.sources.azure_document import parse_document
from watcher.sources.azure_session import (
    BLOCKED,
    EVENTS_PATH,
    HEADERS,
    LIMIT_S,
    NAME_PATH,
    NOT_AZURE,
    refusal,
)
from watcher.sources.azure_vm import parse_name
from watcher.sources.road import Patient
from watcher.sources.tried import Tried, ask, outcome_of, shown, status_of

_CLOCK_TODO = "let chrony follow the host's clock, /dev/ptp_hyperv"
_FIRST = (
    "where nobody has asked for a day, the first question switches events on for this machine, "
    "which takes up to two minutes: ask again then"
)
_AGAIN = "ask again, and if it stays so, look at what stands between this machine and Azure's host"


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureEvidence:
    """The answers, and when the first question was sent by this machine's clock."""

    config: AzureConfig
    asked_at: datetime
    name: Tried
    events: Tried

    def vm_name(self) -> str | None:
        """Return the machine's name, as set, else as Azure says it; None where it is unknown."""
        if self.config.vm_name is not None or status_of(self.name) != 200:
            return self.config.vm_name
        try:
            return parse_name(self.name.body) if isinstance(self.name, Answer) else None
        except SourceMalformed:
            return None


async def checks(config: AzureConfig, _patient: Patient) -> Sequence[Finding]:
    """Return what every check of Azure's road has found."""
    return judged(await examine(config))


async def examine(config: AzureConfig, limit_s: float = LIMIT_S) -> AzureEvidence:
    """Ask for the machine's name, then for its events; takes no longer than twice the limit."""
    async with HttpClient(config.metadata_endpoint, limit_s) as client:
        asked_at = datetime.now(UTC)
        name = await ask(client, "GET", NAME_PATH, HEADERS)
        events = await ask(client, "GET", EVENTS_PATH, HEADERS)
    return AzureEvidence(config=config, asked_at=asked_at, name=name, events=events)


def judged(evidence: AzureEvidence) -> list[Finding]:
    """Return what the answers come to, in the order in which one would ask."""
    reachable, name = _reachable(evidence), _name(evidence)
    is_above = Verdict.WRONG in (reachable.verdict, name.verdict)
    clock = tried.clock(evidence.name, evidence.asked_at, whose="Azure", todo=_CLOCK_TODO)
    return [reachable, name, clock, _events(evidence, is_above=is_above)]


def _reachable(evidence: AzureEvidence) -> Finding:
    checked = f"metadata service at {evidence.config.metadata_endpoint}"
    if outcome_of(evidence.name) == "unreachable":
        return wrong(checked, str(evidence.name), BLOCKED)
    return ok(checked, "accepts connections")


def _name(evidence: AzureEvidence) -> Finding:
    """Check that it is known which machine this is; without that nobody knows whose events are."""
    checked, asked, given = "machine's name", evidence.name, evidence.config.vm_name
    if outcome_of(asked) == "unreachable":
        return unknown(checked, "no answer to judge by")
    if not isinstance(asked, Answer):
        return wrong(checked, shown(asked), _AGAIN)
    if asked.status != 200:
        return wrong(checked, str(refusal(asked.status, f"GET {NAME_PATH}")), _AGAIN)
    try:
        said = parse_name(asked.body)
    except SourceMalformed as error:
        return wrong(checked, str(error), NOT_AZURE)
    if given is not None and given.casefold() != said.casefold():
        found = f"azure.vm_name is {given}, and Azure says {said}"
        return wrong(checked, found, f"unset azure.vm_name: events of {said} are ignored")
    return ok(checked, said)


def _events(evidence: AzureEvidence, *, is_above: bool) -> Finding:
    checked, asked = "Scheduled Events", evidence.events
    if status_of(asked) == 200 and isinstance(asked, Answer):
        return _document(evidence, asked.body)
    if is_above:
        return wrong(checked, f"can't be read: {shown(asked)}", "see above")
    if outcome_of(asked) == "timeout":
        return wrong(checked, f"no answer within {LIMIT_S:g} s", _FIRST)
    status = status_of(asked)
    found = str(refusal(status, f"GET {EVENTS_PATH}")) if status else shown(asked)
    return wrong(checked, found, f"{_AGAIN}; until then this node hears no notice by this road")


def _document(evidence: AzureEvidence, body: bytes) -> Finding:
    checked, vm_name = "Scheduled Events", evidence.vm_name()
    now = Moment(evidence.asked_at, clock_gettime(CLOCK_BOOTTIME))
    try:
        document = parse_document(body, now, vm_name)
    except SourceMalformed as error:
        return wrong(checked, str(error), NOT_AZURE)
    if vm_name is None and document.events:
        found = f"{len(document.events)} in force, and it is unknown whose"
        return wrong(checked, found, "set azure.vm_name to this machine's name in Azure")
    mine = f"{len(document.events)} of this machine" if document.events else "none"
    return ok(checked, f"can be read; {mine} in force")
