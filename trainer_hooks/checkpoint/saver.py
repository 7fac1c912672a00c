"""Checkpointer: one asynchronous save in flight, committed as soon as it is durable.

A save has two halves. The training thread reserves a directory and stages the tensors; that is
the stall. A thread per save then waits for DCP, writes this rank's state and manifest, votes, and
learns what became of the save; the coordinator's thread commits it. No collective of ours runs
beside the training.
"""

import contextlib
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta

from torch.distributed import DistError

from trainer_hooks.checkpoint.cause import root_cause
from trainer_hooks.checkpoint.commit import commit, missing_manifests, reserve
from trainer_hooks.checkpoint.digest import DigestingWriter
from trainer_hooks.checkpoint.in_flight import SaveInFlight
from trainer_hooks.checkpoint.layout import Attempt, SaveName
from trainer_hooks.checkpoint.manifest import write_manifest
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.rank_state import write_rank_state
from trainer_hooks.checkpoint.removal import discard
from trainer_hooks.checkpoint.staging import open_stager, stage
from trainer_hooks.checkpoint.streak import Streak
from trainer_hooks.checkpoint.turns import ALL_AT_ONCE
from trainer_hooks.checkpoint.vote import Vote
from trainer_hooks.checkpoint.votes import Votes
from trainer_hooks.clock import seconds_left
from trainer_hooks.errors import CheckpointError, FencedError
from trainer_hooks.state import Snapshot
from trainer_hooks.world import World

REMEMBERED = 8
"""Saves whose times count: what they take changes with the storage and its other users."""

LAST_VOTES_S = 5.0
"""How long a failed save's leftovers wait for the ranks that may still write them."""

DESTROYED = "the process group was destroyed while it was in flight, which is for after the block: "
"""What torch says then is that a group is not registered."""


class Checkpointer:
    """Saves and commits checkpoints. Every rank holds one and makes the same calls.

    Args:
        root: The checkpoint directory, the same storage on all ranks.
        world: The ranks.
        attempt: This start of the job, the same on all ranks.
        save_every_steps: For the marker; as a save begins, the coordinator's becomes everybody's.
        commit_timeout_s: How long a durable rank waits for the others before it gives a save up.
    """

    on_commit: Callable[[], None]
    """Called on every rank after each commit, when the next save may begin already."""

    def __init__(
        self,
        root: Place,
        world: World,
        attempt: Attempt,
        *,
        save_every_steps: int,
        commit_timeout_s: float = 600.0,
    ) -> None:
        self._root = root
        self._world = world
        self._attempt = attempt
        self.save_every_steps = save_every_steps
        self._timeout = timedelta(seconds=commit_timeout_s)
        if world.group is None:
            # Asked for by no_dist; DCP remarks on it all the same, at every save and load.
            warnings.filterwarnings("ignore", "torch.distributed is disabled")
        self._stager = open_stager()
        self.votes = Votes(world, self._timeout)
        self._finishing: threading.Thread | None = None
        self.on_commit = lambda: None
        self.turns = ALL_AT_ONCE
        """In which the ranks of this node write."""
        self.last: SaveInFlight | None = None
        """The newest save of this attempt, in flight or ended."""
        self.last_committed: SaveName | None = None
        """The newest checkpoint that this attempt knows of."""
        self.committed_at: float | None = None
        """When that was, as seconds of Unix time."""
        self.streak = Streak("save")
        """The saves that have failed since the last good one."""
        self.stall_s = 0.0
        """How long the last save kept the training waiting (C)."""
        self.began_s: float | None = None
        """When the save in flight began, on the monotonic clock; None while none is."""
        self.took_s: deque[float] = deque(maxlen=REMEMBERED)
        """Seconds from the beginning to the commit of the last saves that were committed."""

    @property
    def failure(self) -> str | None:
        """Why the newest save failed or was not started; None after a good one."""
        return self.streak.failure

    def save(self, snapshot: Snapshot) -> None:
        """Start a save. All ranks call it at the same boundary; it blocks for the stall only.

        Waits for the save before, on every rank: one that skipped would leave the others in
        DCP's gather (trainer-facts 8.16, 2026-11-30). A save that cannot start is logged on all
        ranks and training goes on; the last checkpoint stays the newest.

        Raises:
            FencedError: A newer attempt has started; on all ranks.
        """
        self.wait(None)
        self.votes.forget_old()
        self.began_s = time.monotonic()
        name = SaveName(snapshot.step, self._attempt)
        try:
            failure = self._reserve(name)
            if failure is None:
                self._begin(name, snapshot, self.began_s)
        except BaseException as error:  # Ctrl-C too: nobody else would say it
            self._break_off(name, error)
            raise
        if failure is not None:
            self.began_s = None
            if isinstance(failure, FencedError):
                raise failure
            self.streak.note_failure("not started", snapshot.step, str(failure))

    def wait(self, deadline_s: float | None) -> bool:
        """Wait for the save in flight, at most until ``deadline_s`` on CLOCK_BOOTTIME.

        Returns:
            True if none is in flight any more, committed or failed.
        """
        return self.last is None or self.last.ended.wait(seconds_left(deadline_s))

    def close(self, linger_s: float = 0.0) -> None:
        """Release the buffers, once nothing is in flight; wait so long for ``on_commit``."""
        if self.last is None or self.last.ended.is_set():
            self._stager.close()
            if self._finishing is not None:
                self._finishing.join(linger_s)

    def _reserve(self, name: SaveName) -> CheckpointError | None:
        """Let the coordinator make the directory; return why it could not, on all ranks."""
        failure = None
        if self._world.is_coordinator:
            try:
                reserve(self._root, name)
            except CheckpointError as error:
                failure = error
        told = self._world.from_coordinator((failure, self.save_every_steps))
        failure, self.save_every_steps = told
        return failure

    def _begin(self, name: SaveName, snapshot: Snapshot, began_s: float) -> None:
        """Stage the tensors, and leave the rest to a thread."""
        directory = self._root / str(name)
        save = SaveInFlight(name, directory, DigestingWriter(directory, self.turns), began_s)
        durable = stage(snapshot, save.writer, self._stager, self._world.group)
        self.stall_s = time.monotonic() - began_s
        self._finishing = threading.Thread(
            target=self._finish,
            args=(save, snapshot, durable),
            name=f"reprieve-save-{snapshot.step}",
            daemon=True,  # an abandoned save must not hold the process past its deadline
        )
        self.last = save
        self._finishing.start()

    def _break_off(self, name: SaveName, error: BaseException) -> None:
        """Say that a save is lost before it was staged; to the others as well, who wait for us."""
        if self.last is not None and self.last.name == name:
            return  # it has been, and its thread goes on
        self.began_s = None
        self.streak.note_failure("broken off", name.step, repr(error))
        with contextlib.suppress(DistError):
            self.votes.refuse(name, f"rank {self._world.rank} has broken it off: {error!r}")

    def _finish(self, save: SaveInFlight, snapshot: Snapshot, durable: Future[object]) -> None:
        """Bring one rank's part to its end. Runs in the save's own thread."""
        started = time.monotonic()
        vote = self.votes.begin(save.name)
        try:
            failure = self._write_rest(save, snapshot, durable)
            vote.cast(failure)
            if self._world.is_coordinator:
                vote.settle(self._decide(save, vote))
            save.failure = vote.outcome()
            vote.note_heard(self._world.rank)
        except Exception as error:  # noqa: BLE001 - a save that never ends would hold up the next for ever
            save.failure = save.failure or save.unless_marked(error)
            if self._world.is_coordinator:
                with contextlib.suppress(DistError):  # or the others would wait for the decision
                    vote.settle(save.failure)
        save.durable_s = time.monotonic() - started
        if save.failure is None:
            self.committed_at = time.time()
            self.last_committed = save.name
            self.took_s.append(self.stall_s + save.durable_s)
            self.streak.note_commit(save.name.step, save.durable_s, self._world.rank)
        else:
            self.streak.note_failure("failed", save.name.step, save.failure)
        self.began_s = None
        save.ended.set()
        if save.failure is None:
            self.on_commit()

    def _write_rest(
        self, save: SaveInFlight, snapshot: Snapshot, durable: Future[object]
    ) -> str | None:
        """Write what DCP does not; return why this rank's part is not durable, if it is not."""
        try:
            try:
                state = write_rank_state(save.directory, snapshot, self._world)
            finally:
                # Also after a failure: while DCP is at work the group belongs to it, and the
                # next save's first collective would meet DCP's.
                durable.result()
            write_manifest(save.directory, self._world.rank, [*save.writer.files, state])
        except BaseException as error:  # noqa: BLE001 - DCP's CheckpointException is no Exception (trainer-facts 8.15)
            why = DESTROYED if self._world.is_destroyed else ""
            return f"rank {self._world.rank}: {why}{root_cause(error)}"
        return None

    def _decide(self, save: SaveInFlight, vote: Vote) -> str | None:
        """Commit if every rank could; return why not otherwise. The coordinator's thread."""
        failures = vote.failures()
        if failures is None:
            missing = missing_manifests(save.directory, self._world.size)
            return f"ranks {missing} did not finish within {self._timeout.total_seconds():.0f} s"
        if failures:
            if vote.is_over(within_s=LAST_VOTES_S):  # nobody writes there any more
                discard(self._root, save.name)  # a full disk wants the room
            return "; ".join(failures)
        try:
            save.marker = commit(
                self._root,
                save.name,
                world_size=self._world.size,
                save_every_steps=self.save_every_steps,
                took_s=time.monotonic() - save.began_s,
            )
        except CheckpointError as error:
            return str(error)
        return None
