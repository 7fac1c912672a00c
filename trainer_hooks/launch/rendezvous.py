"""This node's place in torchrun's rendezvous: given up in time, and found again after an end.

The rendezvous is one value in a Store, which every node reads, changes and writes by
compare-and-set (dynamic_rendezvous.py, torch 2.13, 2026-11-30). torchrun has no call for either
of what is done here; ``fit`` sees to it that the names used are still there.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from torch.distributed.elastic.rendezvous import RendezvousError, RendezvousHandler
from torch.distributed.elastic.rendezvous import dynamic_rendezvous as torchs

log = logging.getLogger(__name__)

WITHDRAW_S = 2.0
"""How long a node that goes away tries to say so; without a word the others miss it later."""

_ATTEMPTS = 20
"""A write is lost when another node has written since; there are as many writers as nodes."""


class Membership:
    """What this node has in the rendezvous of its job; nothing until it belongs to one."""

    def __init__(self) -> None:
        self._handler: Any = None

    def belong_to(self, handler: RendezvousHandler) -> None:
        """Act in this rendezvous from now on; in one that is fixed at the start, do nothing."""
        if isinstance(handler, torchs.DynamicRendezvousHandler):
            self._handler = handler

    def withdraw(self) -> None:
        """Take this node out, so that nobody waits for it. Any thread may call it, once.

        It takes ``WITHDRAW_S`` at the most, and may fail: then the others miss its heartbeat.
        """
        if self._handler is not None:
            thread = threading.Thread(target=self._withdraw, name="reprieve-withdraw", daemon=True)
            thread.start()
            thread.join(WITHDRAW_S)

    def reopen(self) -> None:
        """Begin the rendezvous anew where an earlier start of this job has closed it for good.

        A Store of its own outlives the job, and with it the end of the job. Waits until the last
        of that start's nodes is gone, for as long as a rendezvous waits for nodes.

        Raises:
            RendezvousError: The Store cannot be reached.
        """
        if self._handler is None:
            return
        give_up_s = time.monotonic() + self._handler.settings.timeout.join.total_seconds()
        while (state := self.view().state).closed and time.monotonic() < give_up_s:
            if self.change(begin_anew):
                log.info("an earlier start has closed the rendezvous: it is begun anew")
                return
            log.info("waiting for %d nodes of an earlier start to end", len(state.last_heartbeats))
            time.sleep(1.0)

    def change(self, change: Callable[[Any], bool]) -> bool:
        """Change what all nodes see.

        Args:
            change: Changes a state of the rendezvous; False if there is nothing to change. It may
                be called several times, as others write too.

        Returns:
            Whether it was changed.

        Raises:
            RendezvousError: The Store cannot be reached.
        """
        view = self.view()
        for _ in range(_ATTEMPTS):
            if not change(view.state):
                return False
            view.mark_dirty()
            if view.sync():
                return True
        return False

    def view(self) -> Any:  # noqa: ANN401 - torch's, and private
        """Return a view of the rendezvous, fresh, that no other thread changes under us."""
        backend = self._handler._state_holder._backend  # noqa: SLF001 - see above
        settings = self._handler.settings
        view = torchs._BackendRendezvousStateHolder(backend, settings, cache_duration=0)  # noqa: SLF001 - see above
        view.sync()
        return view

    def forget_us(self, state: Any) -> bool:  # noqa: ANN401 - as above
        """Take this node out of a state; tell whether it was in it."""
        node = self._handler._this_node  # noqa: SLF001 - see above
        was_there = node in state.participants or node in state.last_heartbeats
        if node in state.participants:
            del state.participants[node]
            torchs._remove_participant_epilogue(state, self._handler.settings)  # noqa: SLF001 - see above
        state.last_heartbeats.pop(node, None)
        state.wait_list.discard(node)
        state.redundancy_list.discard(node)
        return was_there

    def _withdraw(self) -> None:
        try:
            self._handler._stop_heartbeats()  # noqa: SLF001 - see above
            self.change(self.forget_us)
        except RendezvousError as error:
            log.warning("the other nodes are not told that this one leaves: %s", error)


def begin_anew(state: Any) -> bool:  # noqa: ANN401 - as above
    """Make a closed state the begin of a next round, once no node of it lives; tell whether."""
    if not state.closed or state.last_heartbeats:  # reading it has dropped those who are silent
        return False
    state.closed = state.complete = False
    state.deadline = None
    state.round += 1  # what was written in the round before is there still
    for nodes in (state.participants, state.wait_list, state.redundancy_list):
        nodes.clear()
    return True
