"""Who this VM is, by its metadata: for ids, people and windows; never a gate for notices."""

import re
from collections.abc import Callable

from watcher.errors import SourceMalformed
from watcher.gcp.metadata import ID, NAME, WORDS, ZONE
from watcher.httpclient import Answer
from watcher.notice import Moment
from watcher.sources.lane import NOTHING, Sight

PREEMPTIBLE = "instance/scheduling/preemptible"
MACHINE_TYPE = "instance/machine-type"
HOST_MAINTENANCE = "instance/scheduling/on-host-maintenance"

PATHS = (ID, PREEMPTIBLE, MACHINE_TYPE, HOST_MAINTENANCE, NAME, ZONE)
"""What is asked for, in order of use. Source: Compute Engine documentation, "VM metadata entries"
(read 2026-11-30)."""

_TRUTHS = {"TRUE": True, "FALSE": False}
_WORDS = {
    **WORDS,
    PREEMPTIBLE: re.compile(r"(?P<word>TRUE|FALSE)"),
    MACHINE_TYPE: re.compile(r"(projects/[^/]+/machineTypes/)?(?P<word>[a-z0-9-]{1,63})"),
    HOST_MAINTENANCE: re.compile(r"(?P<word>[A-Z_]{1,63})"),
}


class GcpVm:
    """What has been learnt of the VM so far; each of it may stay unknown for ever.

    Args:
        facts: Gets the cloud's own words, by the last part of the cloud's own paths.
        notice_s: How long ahead a preemption is announced, where that is known; the metadata
            server does not say it.
    """

    def __init__(self, facts: dict[str, str], notice_s: float | None = None) -> None:
        self.notice_s = notice_s
        self._facts = facts
        self._words: dict[str, str] = {}

    @property
    def id(self) -> str | None:
        """Its number, as audit logs have it."""
        return self._words.get(ID)

    @property
    def is_preemptible(self) -> bool | None:
        """Whether it is a Spot or preemptible VM."""
        return _TRUTHS.get(self._words.get(PREEMPTIBLE, ""))

    @property
    def machine_type(self) -> str | None:
        """Such as ``a3-highgpu-8g``."""
        return self._words.get(MACHINE_TYPE)

    @property
    def does_migrate(self) -> bool:
        """Whether it is known to survive the maintenance of its host."""
        return self._words.get(HOST_MAINTENANCE) == "MIGRATE"

    def learn(self, path: str, body: bytes) -> None:
        """Take in the body of one path.

        Raises:
            SourceMalformed: It is not what this path says.
        """
        found = _WORDS[path].fullmatch(body[:256].decode("latin-1").strip())
        if found is None:
            raise SourceMalformed(f"{path}: no such thing: {body[:64]!r}")
        # The first word stays: an id that changed would make a new notice of an old one.
        self._words.setdefault(path, found["word"])
        self._facts[path.rpartition("/")[2]] = found["word"]


class Fact:
    """A path that says something about the VM, and nothing about its end."""

    def __init__(self, path: str, learn: Callable[[str, bytes], None]) -> None:
        self._path = path
        self._learn = learn

    def answered(self, answer: Answer, _now: Moment) -> Sight:
        """Take in an answer.

        Raises:
            SourceMalformed: It does not say what it should; it is asked for again.
        """
        if answer.status != 200:
            raise SourceMalformed(f"HTTP {answer.status} for a path that every VM has")
        self._learn(self._path, answer.body)
        return NOTHING

    def unknown(self) -> None:
        """Take in a failed fetch: nothing was learnt."""
