"""Which requests the metadata service lets down, and how: the faults that are in force."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from watcher.simulator.clock import ScenarioClock
from watcher.simulator.scenario import ScenarioError, seconds

log = logging.getLogger(__name__)

EVERY_CLOUD_PATH = "/latest/"

MOST_FAULTS = 100
"""More than a test needs; a script in a loop must not make every request slower."""


class FaultKind(StrEnum):
    """What goes wrong. A fault stands in for the answer, the token check included."""

    STATUS = "status"  # an error page with the given status
    HANG = "hang"  # the request is read and never answered
    RESET = "reset"  # the connection is reset (RST)
    HALF_BODY = "half_body"  # the true answer's head, half its body, close
    GARBAGE = "garbage"  # 200 with bytes that mean nothing
    HTML = "html"  # 200 with the page of something on the way
    REDIRECT = "redirect"  # 302 to another host name
    SLOW = "slow"  # the true answer, late


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One fault: for ``count`` requests, for ``for_s`` seconds, or until it is lifted."""

    kind: FaultKind
    status: HTTPStatus = HTTPStatus.SERVICE_UNAVAILABLE
    path_prefix: str = EVERY_CLOUD_PATH
    count: int | None = None
    for_s: float | None = None
    delay_s: float = 0.0


@dataclass(slots=True)
class _Armed:
    fault: Fault
    ends_at_s: float | None
    left: int | None

    def is_spent(self, now_s: float) -> bool:
        is_over = self.ends_at_s is not None and self.ends_at_s <= now_s
        return is_over or self.left == 0


class Faults:
    """The faults in force, oldest first; the first one that fits a request happens to it."""

    def __init__(self, clock: ScenarioClock) -> None:
        self._clock = clock
        self._armed: list[_Armed] = []

    def add(self, fault: Fault) -> None:
        """Put ``fault`` in force from now on.

        Raises:
            ScenarioError: Too many are in force already.
        """
        self._drop_spent()
        if len(self._armed) >= MOST_FAULTS:
            raise ScenarioError(f"{MOST_FAULTS} faults are in force; lift them first")
        ends_at_s = None if fault.for_s is None else self._clock.elapsed_s() + fault.for_s
        self._armed.append(_Armed(fault, ends_at_s, fault.count))
        log.info("fault in force kind=%s path_prefix=%s", fault.kind, fault.path_prefix)

    def clear(self) -> None:
        """Lift every fault. Requests that hang already go on hanging."""
        self._armed.clear()
        log.info("faults lifted")

    def take(self, path: str) -> Fault | None:
        """Return the fault that happens to a request for ``path``, and count the request."""
        self._drop_spent()
        for armed in self._armed:
            if path.startswith(armed.fault.path_prefix):
                if armed.left is not None:
                    armed.left -= 1
                return armed.fault
        return None

    def _drop_spent(self) -> None:
        now_s = self._clock.elapsed_s()
        self._armed = [armed for armed in self._armed if not armed.is_spent(now_s)]


def parse_fault(fields: Mapping[str, object]) -> Fault:
    """Make a fault of a JSON object's fields.

    Raises:
        ScenarioError: A field is missing or out of its range.
    """
    kind = fields.get("kind")
    if kind not in list(FaultKind):
        raise ScenarioError(f"kind must be one of {', '.join(FaultKind)}, not {kind!r}")
    fault = Fault(
        kind=FaultKind(str(kind)),
        status=_error_status(fields.get("status", HTTPStatus.SERVICE_UNAVAILABLE)),
        path_prefix=_path_prefix(fields.get("path_prefix", EVERY_CLOUD_PATH)),
        count=_count(fields["count"]) if "count" in fields else None,
        for_s=seconds("for_s", fields["for_s"]) if "for_s" in fields else None,
        delay_s=seconds("delay_s", fields.get("delay_s", 0)),
    )
    if "status" in fields and fault.kind is not FaultKind.STATUS:
        raise ScenarioError(f"status goes with kind status, not with {fault.kind}")
    if fault.kind is FaultKind.SLOW and fault.delay_s == 0:
        raise ScenarioError("a slow answer needs delay_s")
    return fault


def _error_status(value: object) -> HTTPStatus:
    for status in HTTPStatus:
        if status == value and status >= HTTPStatus.BAD_REQUEST:
            return status
    raise ScenarioError(f"status must be an HTTP error, 4xx or 5xx, not {value!r}")


def _path_prefix(value: object) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise ScenarioError(f"path_prefix must start with a slash, not {value!r}")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ScenarioError(f"count must be a whole number from 1 up, not {value!r}")
    return value
