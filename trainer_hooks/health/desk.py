"""The desk: a thread that tells the other ranks figures over the Store, and hears of findings.

The training hands work over and goes on. What the desk can't get done in time is left out: a guard
that sees less is better than a training that waits for one. Its traffic is a few operations for
each piece of work, and one every few seconds besides.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from torch.distributed import DistError

from trainer_hooks.health.finding import Finding
from trainer_hooks.world import Store, World

log = logging.getLogger(__name__)

LOOK_S = 2.0
"""How often findings of others are looked for where there is nothing else to do, in seconds."""

CLOSE_S = 1.0
"""How long the end of a run waits for what is on the desk."""

PICK_UP_S = 0.05
"""How often the desk looks for work, in seconds. It is not woken: that would cost the training some
20 us a piece, and nobody waits for what is on the desk."""

PENDING = 16
"""Pieces of work on the desk; what comes on top of that is left out."""

Work: TypeAlias = Callable[["Desk"], None]


class Desk:
    """Does work for one rank, piece by piece.

    Args:
        world: The ranks.
        on_finding: Told of each finding once, on every rank, in the desk's thread.
        chore: Done in the desk's thread every ``LOOK_S``, or a little later.
    """

    def __init__(
        self,
        world: World,
        on_finding: Callable[[Finding], None],
        chore: Work = lambda _: None,
    ) -> None:
        self.world = world
        self.store: Store = world.connection()
        """Only the desk's thread may use it."""
        self._on_finding = on_finding
        self._chore = chore
        self._next_chore_s = 0.0
        self._seen = 0
        self._is_closing = False
        self._next_look_s = 0.0
        self._work: deque[Work] = deque()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="reprieve-health", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def put(self, work: Work) -> bool:
        """Have something done soon; tell whether there is time for it. Never blocks."""
        if len(self._work) >= PENDING:
            return False
        self._work.append(work)
        return True

    def put_last(self, work: Work) -> None:
        """Have something done after all that is on the desk, however much that is."""
        self._work.append(work)

    def publish(self, finding: Finding) -> None:
        """Tell all ranks of a finding. Runs in the desk's thread."""
        self.store.append("health/findings", finding.encode())
        self.store.add("health/found", 1)

    def close(self) -> None:
        """Finish what is on the desk, if that takes no time."""
        self._is_closing = True
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_S)

    def _serve(self) -> None:
        try:
            while not self._end.wait(PICK_UP_S):
                self._work_off()
            self._work_off()
        except DistError as error:
            if not self._is_closing:  # whoever leaves last takes the Store along
                log.warning("the Store is lost, so the guards see nothing any more: %r", error)
        except Exception:  # a guard that fails is no reason to stop training
            log.exception("the guards see nothing any more")

    def _work_off(self) -> None:
        """Do what is on the desk, and look up from it now and then."""
        is_idle = not self._work
        while self._work:
            self._work.popleft()(self)
        if not is_idle or time.monotonic() >= self._next_look_s:
            self._next_look_s = time.monotonic() + LOOK_S
            self.look()

    def look(self) -> None:
        """Take in what has been found since the last look. Runs in the desk's thread."""
        if time.monotonic() >= self._next_chore_s:
            self._next_chore_s = time.monotonic() + LOOK_S
            self._chore(self)
        if self.store.add("health/found", 0) <= self._seen:
            return
        found = Finding.decode_all(self.store.get("health/findings"))
        news, self._seen = found[self._seen :], len(found)
        for finding in news:
            self._on_finding(finding)
