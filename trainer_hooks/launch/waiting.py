"""Stops that come while the launcher waits: for the other nodes, and for its own imports.

torchrun handles signals once its ranks run. Before that its main thread may sit in a rendezvous
for minutes, where no Python handler runs, for a node that was perhaps taken by the same reclaim.
"""

from collections.abc import Callable

from trainer_hooks.flag import StopNotice
from trainer_hooks.launch.in_force import stop_in_force
from trainer_hooks.launch.other_signals import children
from trainer_hooks.stop import StopListener


class StopWhileWaiting:
    """Calls ``leave`` from a thread when a stop comes and no rank has been started yet."""

    def __init__(self, leave: Callable[[StopNotice], None]) -> None:
        self._leave = leave
        self._listener = StopListener(self._on_news)

    def start(self) -> None:
        """Listen from now on. Call it from the main thread."""
        self._listener.start()

    def close(self) -> None:
        """Give the signal handlers back. Call it from the main thread."""
        self._listener.close()

    def forbids_a_start(self) -> bool:
        """Tell whether ranks are not to be started anew; blocks for seconds at the most."""
        notice = self._listener.pending()
        return (notice is not None and notice.is_stop) or stop_in_force() is not None

    def _on_news(self) -> None:
        notice = self._listener.pending()
        if notice is not None and notice.is_stop and not _has_children():
            self._leave(notice)


def _has_children() -> bool:
    """Tell whether this process has started any; True where the kernel does not say."""
    try:
        return bool(children())
    except OSError:
        return True
