"""Which requests the metadata service lets down, and how: the faults that are in force."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from watcher.simulator.clock import ScenarioClock
from watcher.simulator.values import ScenarioError

log = logging.getLogger(__name__)

MOST_FAULTS = 100
"""More than a test needs; a script in a loop must not make every request slower."""


class FaultKind(StrEnum):
    """What goes wrong.

    The first group stands in for the answer, the token check included. The second alters the true
    answer, and leaves it alone unless it is a 200 (`answer`: unless the client is let in).
    """

    STATUS = "status"  # an error page with the given status
    HANG = "hang"  # the request is read and never answered
    RESET = "reset"  # the connection is reset (RST)
    GARBAGE = "garbage"  # 200 with bytes that mean nothing
    HTML = "html"  # 200 with the page of something on the way
    REDIRECT = "redirect"  # 302 to another host name

    HALF_BODY = "half_body"  # the true answer's head, half its body, close
    SLOW = "slow"  # the true answer, late
    ANSWER = "answer"  # the given status, headers and body
    BOM = "bom"  # a byte order mark before the body
    NEWLINE = "newline"  # a newline after the body
    EXTRA_KEYS = "extra_keys"  # JSON objects have keys that nobody has heard of
    UNKNOWN_ACTION = "unknown_action"  # `action` and `Code` are words that nobody has heard of
    NO_TIME = "no_time"  # JSON objects lack their times
    BAD_TIME = "bad_time"  # the times in JSON objects are no times


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One fault: for ``count`` requests, for ``for_s`` seconds, or until it is lifted.

    ``status`` goes with the kinds `status` and `answer`, ``headers`` and ``body`` with `answer`.
    Without ``path_prefix`` it happens to the cloud's every path.
    """

    kind: FaultKind
    status: int = 503
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    path_prefix: str | None = None
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
    """The faults in force, oldest first; the first one that fits a request happens to it.

    Args:
        clock: Tells when a fault is over.
        root: What the cloud's paths begin with.
    """

    def __init__(self, clock: ScenarioClock, root: str) -> None:
        self._clock = clock
        self._root = root
        self._armed: list[_Armed] = []

    def refuse(self, number: int) -> None:
        """Pass if there is room for so many faults more.

        Raises:
            ScenarioError: Too many are in force already.
        """
        self._drop_spent()
        if len(self._armed) + number > MOST_FAULTS:
            raise ScenarioError(f"no more than {MOST_FAULTS} faults; lift those in force first")

    def add(self, fault: Fault, at_s: float) -> None:
        """Put ``fault`` in force from second ``at_s`` on."""
        ends_at_s = None if fault.for_s is None else at_s + fault.for_s
        self._armed.append(_Armed(fault, ends_at_s, fault.count))
        log.info("fault in force kind=%s path_prefix=%s", fault.kind, self._prefix(fault))

    def clear(self) -> None:
        """Lift every fault. Requests that hang already go on hanging."""
        self._armed.clear()
        log.info("faults lifted")

    def take(self, path: str) -> Fault | None:
        """Return the fault that happens to a request for ``path``, and count the request."""
        self._drop_spent()
        for armed in self._armed:
            if path.startswith(self._prefix(armed.fault)):
                if armed.left is not None:
                    armed.left -= 1
                return armed.fault
        return None

    def _prefix(self, fault: Fault) -> str:
        return self._root if fault.path_prefix is None else fault.path_prefix

    def _drop_spent(self) -> None:
        now_s = self._clock.elapsed_s()
        self._armed = [armed for armed in self._armed if not armed.is_spent(now_s)]
