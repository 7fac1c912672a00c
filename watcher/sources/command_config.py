"""What can be set about a program that tells of notices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher import setting_values
from watcher.notice import NoticeKind
from watcher.sources.notice_line import KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandConfig:
    """Which program is asked, and how its answer is read."""

    argv: tuple[str, ...] | None = None
    """The program and its arguments: a list, or a text that is split as a shell would, though none
    runs. Without it there is no such source."""
    mode: str = "lines"
    """``lines``: it goes on and prints a notice a line; ``status``: its exit status is polled."""
    interval_s: float = 5.0
    """Seconds from the start of one run to the next in mode ``status``; in mode ``lines`` the rest
    before a program that has ended is started again, doubled up to a minute while it ends soon."""
    limit_s: float = 10.0
    """Longest that a run may take in mode ``status``, in seconds; in mode ``lines`` how long a
    program that says nothing has to run before it counts as one that would."""
    kind: str = NoticeKind.PREEMPTION.value
    """The kind of a notice that does not name its own."""
    window_s: float | None = None
    """Seconds from hearing a notice to its deadline where it names none; without it, its kind's."""


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "argv": setting_values.arguments,
        "mode": setting_values.one_of("lines", "status"),
        "interval_s": setting_values.seconds,
        "limit_s": setting_values.seconds,
        "kind": setting_values.one_of(*sorted(KINDS)),
        "window_s": setting_values.seconds,
    }
)
