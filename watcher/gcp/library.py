"""The only door to google-cloud-compute: what the fleet is, and which VMs were preempted.

The library costs 3 s and 150 MB, so it is loaded by the relay alone, when it first asks; its calls
block, so they are made in a :class:`watcher.side_thread.SideThread`. Credentials are Google's
Application Default Credentials: the metadata server's, a key's or a federation's.

Source: Compute API reference v1, ``instances.list`` and ``zoneOperations.list``; the library's
samples of preemption history (both read 2026-11-30).
"""

import contextlib
import importlib.util
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from watcher.errors import ConfigError, GcpCallFailed, first_line

ANSWER_LIMIT_S = 20.0
"""Longest wait for an answer, in seconds; a page of a list takes seconds in a large project."""

PAGE = 500
"""Most that one answer lists. Source: Compute API reference v1, ``maxResults``."""

PREEMPTED = "compute.instances.preempted"
"""The operation that a preemption is recorded as, exactly so."""

_OUTCOMES: Mapping[int, str] = {401: "credentials", 403: "forbidden", 404: "not_found"}
_THROTTLED = (429, 503)


@dataclass(frozen=True, slots=True)
class Operation:
    """One preemption as Compute Engine has recorded it."""

    name: str
    """``systemevent-...``: the same as the ``operation`` of the audit log's entry about it."""
    instance_id: str
    """The number in decimal: names are used again."""
    target: str
    """The VM's URL, for people."""
    inserted: str
    """When it was recorded, in RFC 3339 with an offset."""


def require_library(what_for: str) -> None:
    """Make sure that google-cloud-compute is installed, without loading it.

    Raises:
        ConfigError: It is not; names the extra that brings it.
    """
    try:
        found = importlib.util.find_spec("google.cloud.compute_v1")
    except ModuleNotFoundError:  # there is nothing at all of Google's
        found = None
    if found is None:
        raise ConfigError(f"{what_for} needs google-cloud-compute: pip install 'reprieve[gcp]'")


class ComputeLibrary:
    """One project's VMs and operations; each call blocks.

    Args:
        project: The project's id.
        endpoint: Where the API is, as a URL.
    """

    def __init__(self, project: str, endpoint: str) -> None:
        self._project = project
        self._endpoint = endpoint
        self._making = threading.Lock()
        self._made: Any = None

    def instances(self, zone: str, label: str | None) -> list[Mapping[str, object]]:
        """Return what the API says of each VM in a zone, as JSON would; blocks.

        ``label`` is ``KEY`` or ``KEY=VALUE`` that a VM has to carry; None takes all.

        Raises:
            GcpCallFailed: It is unknown what there is.
        """
        with _failing_as(f"instances of {zone}"):
            library, clients = self._get()
            request = library.ListInstancesRequest(
                project=self._project, zone=zone, max_results=PAGE, filter=_by_label(label)
            )
            found = clients["instances"].list(request, timeout=ANSWER_LIMIT_S, retry=None)
            to_json = library.Instance.to_json
            return [
                json.loads(to_json(one, always_print_fields_with_no_presence=False))
                for one in _proven(found, "compute#instanceList")
            ]

    def preemptions(self, zone: str, since: datetime) -> list[Operation]:
        """Return the preemptions in a zone that were recorded after ``since``; blocks.

        The filter narrows what Google sends; what counts is compared here, exactly. Google keeps
        operations for two weeks, and no order of them is relied on.

        Raises:
            GcpCallFailed: It is unknown whether there are any.
        """
        with _failing_as(f"operations of {zone}"):
            library, clients = self._get()
            request = library.ListZoneOperationsRequest(
                project=self._project,
                zone=zone,
                max_results=PAGE,
                filter=f'operationType="{PREEMPTED}"',
            )
            found = clients["operations"].list(request, timeout=ANSWER_LIMIT_S, retry=None)
            return [
                Operation(one.name, str(one.target_id), one.target_link, one.insert_time)
                for one in _proven(found, "compute#operationList")
                if one.operation_type == PREEMPTED
                and one.target_id
                and _is_after(one.insert_time, since)
            ]

    def close(self) -> None:
        """Close the connections that are not in use."""
        if self._made is not None:
            for client in self._made[1].values():
                client.transport.close()

    def _get(self) -> tuple[Any, dict[str, Any]]:
        """Return the library and its clients, which are made when they are first needed."""
        with self._making:
            if self._made is None:
                from google.cloud import compute_v1  # noqa: PLC0415 - loaded only in the relay

                options = {"api_endpoint": self._endpoint}
                clients = {
                    "instances": compute_v1.InstancesClient(client_options=options),
                    "operations": compute_v1.ZoneOperationsClient(client_options=options),
                }
                self._made = (compute_v1, clients)
            return cast("tuple[Any, dict[str, Any]]", self._made)


def _proven(found: Any, kind: str) -> Iterator[Any]:  # noqa: ANN401 - the library's own
    """Yield what a list's pages hold; the library itself takes ``[]`` for an empty one."""
    for page in found.pages:
        if page.kind != kind:
            raise ValueError(f"a page is of kind {page.kind!r:.80}, not {kind}")
        yield from page.items


def _is_after(inserted: str, since: datetime) -> bool:
    """Tell whether a time is later; one that can't be read counts, as it may be."""
    try:
        read = datetime.fromisoformat(inserted)
    except ValueError:
        return True
    return (read if read.tzinfo else read.replace(tzinfo=UTC)) > since


def _by_label(label: str | None) -> str:
    """Return the filter for a label; Google's syntax for one that is there is ``:*``."""
    if label is None:
        return ""
    key, has_value, value = label.partition("=")
    return f"labels.{key}={value}" if has_value else f"labels.{key}:*"


@contextlib.contextmanager
def _failing_as(what: str) -> Iterator[None]:
    """Raise what Google's library raises in the block as GcpCallFailed."""
    from google.api_core.exceptions import GoogleAPICallError  # noqa: PLC0415 - as above
    from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - as above

    try:
        yield
    except GoogleAPICallError as error:
        status = int(error.code or 0)
        outcome = "throttled" if status in _THROTTLED else _OUTCOMES.get(status, "refused")
        raise _failed(what, error, outcome) from error
    except GoogleAuthError as error:
        raise _failed(what, error, "credentials") from error
    except OSError as error:  # requests' errors are OSErrors as well
        raise _failed(what, error, "connection") from error
    except Exception as error:  # protobuf raises any class at an answer that is not Google's
        raise _failed(f"{what}: not Google's answer", error, "malformed") from error


def _failed(what: str, error: Exception, outcome: str) -> GcpCallFailed:
    why = first_line(f"{type(error).__name__}: {error}")
    return GcpCallFailed(f"Compute API, {what}: {why}"[:512], outcome=outcome)
