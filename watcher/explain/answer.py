"""What is asked of a parser, and what it may answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from watcher.notice import Moment, Notice


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the daemon knows beside the body: when it arrived, and who asks."""

    received: Moment
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A notice, and what only a queue knows about whom it is for."""

    notice: Notice
    addressee: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


Answer = tuple[Told, ...] | str
"""Notices, or why there are none."""


@dataclass(frozen=True, slots=True)
class Body:
    """One kind of body: what it is in a line or two of help, and how it is read.

    ``explain`` raises SourceMalformed for a body that is not of this kind.
    """

    what: str
    explain: Callable[[bytes, Asked], Answer]
