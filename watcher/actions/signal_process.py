"""Signals the trainers' processes: a hint to one that reads no flag file."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from watcher.actions.signal_targets import Target
from watcher.errors import ActionRefused, ActionRetryable
from watcher.notice import Standing
from watcher.side_thread import SideThread


class SignalProcess:
    """Sends each process one signal, however many notices in force tell of its node's end.

    The same end is often told on two roads, and a second SIGTERM means "at once" to many programs.
    A process that takes the first one's place is signalled by the next notice.

    What was sent is not kept on disk: a daemon that was killed between flag and signal must send
    it after its restart, so one restarted after both sends it once more.

    Processes are held by their pidfds before the target is asked again, so a pid that has passed
    on to another process between the two is never signalled.
    """

    name = "signal"

    def __init__(self, target: Target, number: signal.Signals) -> None:
        self._target = target
        self._number = number
        self._sent: dict[str, frozenset[int]] = {}  # who got it, by the id of each notice
        self._thread = SideThread[str](self.name)

    async def run(self, standing: Standing, /) -> str:
        """Send the signal; see :class:`base.Action`.

        Raises:
            ActionRetryable: There is nobody to be signalled, or they have gone.
            ActionRefused: The daemon may not signal one of them; the others have it.
        """
        return await self._thread.call(lambda: partial(self._send, standing.notice.id))

    async def undo(self, standing: Standing, /) -> str:
        """Forget the notice: a signal can't be taken back, but the next one is a new one."""
        self._sent.pop(standing.notice.id, None)
        return f"{self._number.name} can't be taken back"

    def _send(self, notice_id: str) -> str:
        if notice_id in self._sent:
            return f"{self._number.name} was sent before"
        pids = self._target.pids()
        before = frozenset[int]().union(*self._sent.values())
        if before.issuperset(pids):
            self._sent[notice_id] = frozenset(pids)
            return f"{self._number.name} was sent before, for another notice"
        sent, refused = self._signal([pid for pid in pids if pid not in before])
        if sent:
            self._sent[notice_id] = before.intersection(pids).union(sent)
        if refused:
            raise ActionRefused(
                f"may not signal {_named(refused)} of {self._target}: run the daemon as the same "
                "user, or give it CAP_KILL"
            )
        if not sent:
            raise ActionRetryable(
                f"{_named(pids)} of {self._target} has ended, or is in another pid namespace"
            )
        return f"sent {self._number.name} to {_named(sent)} of {self._target}"

    def _signal(self, pids: list[int]) -> tuple[list[int], list[int]]:
        """Signal those that are still meant; return who has it, and to whom it is not ours to."""
        sent: list[int] = []
        refused: list[int] = []
        with ExitStack() as stack:
            held = {pid: stack.enter_context(_held(pid)) for pid in pids}
            still = set(self._target.pids())
            if not still.intersection(pids):
                raise ActionRetryable(f"{self._target} changed while it was read")
            for pid, descriptor in held.items():
                if descriptor is None or pid not in still:
                    continue
                try:
                    signal.pidfd_send_signal(descriptor, self._number)
                except PermissionError:
                    refused.append(pid)
                except ProcessLookupError:
                    continue
                else:
                    sent.append(pid)
        return sent, refused


@contextmanager
def _held(pid: int) -> Iterator[int | None]:
    """Hold a process, so that its pid means nobody else; None if there is none (any more)."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:  # no such process in our pid namespace, or a thread's number
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _named(pids: list[int]) -> str:
    shown = ", ".join(str(pid) for pid in pids[:5])
    more = f" and {len(pids) - 5} more" if len(pids) > 5 else ""
    return f"process{'es' if len(pids) > 1 else ''} {shown}{more}"
