"""What can be set about the sources of Google Cloud."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher import setting_values
from watcher.httpclient import CALL_LIMIT_S
from watcher.sources.gcp_windows import LONGEST_NOTICE_S

ENDPOINT = "http://169.254.169.254"
"""The metadata server without DNS, which may be down when it matters. Source: Compute Engine
documentation, "About VM metadata" (read 2026-11-30)."""

COMPUTE_ENDPOINT = "https://compute.googleapis.com"
PUBSUB_ENDPOINT = "https://pubsub.googleapis.com"
"""Source: Compute API and Pub/Sub API references v1, service endpoints (read 2026-11-30)."""

_REAL_SERVERS = (ENDPOINT, "http://metadata.google.internal", "http://[fd20:ce::254]")

_HOST_VARIABLE = "GCE_METADATA_HOST"
_SCHEME = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpConfig:
    """How the GCP sources reach Google, and what Google does not say there."""

    metadata: str = "on"
    """``off`` where the metadata server is not to be asked for notices."""
    metadata_endpoint: str = ENDPOINT
    """Base URL of the metadata server. Where it is not set, GCE_METADATA_HOST counts."""
    metadata_limit_s: float = CALL_LIMIT_S
    """Longest that the metadata server may take for an answer that it need not hold back."""
    preemption_notice_s: float | None = None
    """How long ahead a preemption is announced: the VM's ``preemptionNoticeDuration``, which the
    metadata server does not tell. Where it is not set, the VM is gone 30 s later."""
    event_notice_s: float | None = None
    """How long ahead a maintenance event is announced. Where it is not set: an hour for machine
    types that have GPUs, else 60 s."""
    compute: str = "auto"
    """``on`` to ask the Compute API about this VM: its run time, its notice before a preemption;
    ``auto`` to do so without being unready where that is refused, and not at all beside a stand-in
    for the metadata server; ``off``."""
    compute_endpoint: str = COMPUTE_ENDPOINT
    """Base URL of the Compute API, such as that of a Private Service Connect endpoint."""
    subscription: str | None = None
    """This VM's own Pub/Sub subscription, ``projects/PROJECT/subscriptions/NAME``, to the audit
    log's entries about VMs; see deploy/gcp."""
    pubsub_endpoint: str = PUBSUB_ENDPOINT
    """Base URL of the Pub/Sub API."""

    @property
    def asks_compute(self) -> bool:
        """Whether the Compute API is to be asked."""
        if self.compute != "auto":
            return self.compute == "on"
        is_stand_in = self.metadata_endpoint not in _REAL_SERVERS
        knows_where = not is_stand_in or self.compute_endpoint != COMPUTE_ENDPOINT
        return self.metadata == "on" and knows_where


def _notice(value: object) -> float:
    expected = f"seconds, at most {LONGEST_NOTICE_S:g}, as the VM was made with"
    if value in (0, "0"):
        return 0.0
    try:
        number = setting_values.seconds(value)
    except ValueError as error:
        raise ValueError(expected) from error
    if number > LONGEST_NOTICE_S:
        raise ValueError(expected)
    return number


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "metadata": setting_values.one_of("on", "off"),
        "metadata_endpoint": setting_values.url,
        "metadata_limit_s": setting_values.call_limit,
        "preemption_notice_s": _notice,
        "event_notice_s": setting_values.seconds,
        "compute": setting_values.one_of("auto", "on", "off"),
        "compute_endpoint": setting_values.api_url,
        "subscription": setting_values.subscription,
        "pubsub_endpoint": setting_values.api_url,
    }
)


def ambient_settings(environment: Mapping[str, str]) -> Mapping[str, tuple[object, str]]:
    """Return our settings as the variable of Google's libraries makes them: a host, maybe a port.

    Source: google-cloud-go, compute/metadata; google-auth (both read 2026-11-30).
    """
    host = environment.get(_HOST_VARIABLE, "")
    if not host:
        return {}
    url = host if _SCHEME.match(host) else f"http://{host}"
    return {"metadata_endpoint": (url, f"environment {_HOST_VARIABLE}")}
