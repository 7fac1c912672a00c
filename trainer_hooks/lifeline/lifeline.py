"""Notices within a minute when the machine of a rank vanishes, and its connections do not end.

Without power or network nobody closes a connection. The ranks that are left would wait in a
collective for as long as gloo or NCCL do, half an hour or ten minutes, and pay for it.
"""

import json
import logging
import socket
import threading
from collections.abc import Callable

from torch.distributed import DistError

from trainer_hooks.lifeline.hub import Hub
from trainer_hooks.lifeline.line import LOST_S
from trainer_hooks.lifeline.spoke import Spoke
from trainer_hooks.own_addresses import own_addresses
from trainer_hooks.world import World

log = logging.getLogger(__name__)

CLOSE_S = 1.0
"""Longest that the end of a run waits for the thread, in seconds."""

_KEY = "lifeline/at"


class Lifeline:
    """A line from each rank to rank 0, and a thread that waits at its end. It costs no step.

    Args:
        world: The ranks.
        on_lost: Called from the lifeline's thread, once, with who is lost and how that is known.
        lost_s: As ``LOST_S``.
    """

    def __init__(self, world: World, on_lost: Callable[[str], None], lost_s: int = LOST_S) -> None:
        self._world = world
        self._on_lost = on_lost
        self._lost_s = lost_s
        self._end: Hub | Spoke | None = None
        self._is_orderly: bool | None = None
        """Whether this rank leaves in order; None while it stays."""
        self._waker: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch from now on; returns at once. Every rank calls it."""
        if self._world.size > 1:
            self._waker, awake = socket.socketpair()
            self._thread = threading.Thread(
                target=self._serve, args=(awake,), name="reprieve-lifeline", daemon=True
            )
            self._thread.start()

    def close(self, *, is_orderly: bool) -> None:
        """Watch over nobody any more; only the first call counts.

        Args:
            is_orderly: False: this rank has failed, and the others will have to leave as well.
        """
        if self._is_orderly is None:
            self._is_orderly = is_orderly
            if self._waker is not None:
                self._waker.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(CLOSE_S)

    @property
    def is_closed(self) -> bool:
        """True once this rank leaves by itself."""
        return self._is_orderly is not None

    @property
    def gone(self) -> frozenset[int]:
        """The ranks that are known to have ended, or whose machines are lost. Only rank 0 knows."""
        return frozenset(self._end.gone) if isinstance(self._end, Hub) else frozenset()

    def _serve(self, awake: socket.socket) -> None:
        try:
            if self._world.is_coordinator:
                self._end = hub = Hub(self._world.size, self._lost_s, self._on_lost)
                at = {"hosts": [*own_addresses()], "port": hub.port, "token": hub.token.hex()}
                self._world.connection().set(_KEY, json.dumps(at))
            else:
                self._end = spoke = Spoke(self._world.rank, self._lost_s, self._on_lost)
                at = json.loads(self._world.connection().get(_KEY))
                spoke.connect(at["hosts"], at["port"], bytes.fromhex(at["token"]))
            self._end.serve(awake)
        except (OSError, DistError) as error:
            if not self.is_closed:
                log.warning(
                    "rank %d watches over no other machine, so that one which vanishes is noticed "
                    "only by the time-out of the collectives: %s",
                    self._world.rank,
                    error,
                )
        finally:
            if self._end is not None:
                self._end.close(is_orderly=self._is_orderly is True)
            awake.close()
