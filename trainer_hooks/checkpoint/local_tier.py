"""The local tier: each rank's own saves on its own node, for crashes that leave the node alive.

A node's disk is quick, and gone with the node. So it is saved to more often than the storage that
all ranks share, and it counts only for what that has not got yet. Each rank saves what it holds,
alone; a local save is a checkpoint of the job where *every* rank has its own of the same name.

It is resumed from by the very next attempt of the same run, or by none: what somebody has rolled
back, or what has already crashed a start, is not met again. And only by ranks that stand as they
stood: what each has kept of its own cannot be dealt out anew.
"""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from torch.distributed import HashStore

from trainer_hooks.checkpoint.commit import LASTING, name_in, newest_attempt
from trainer_hooks.checkpoint.durable import create_file, make_directory
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import committed
from trainer_hooks.checkpoint.layout import ATTEMPTS, Attempt, SaveName, saves
from trainer_hooks.checkpoint.local_load import LocalLoad, local_part
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.removal import delete_checkpoint, discard
from trainer_hooks.checkpoint.resume import ResumePoint
from trainer_hooks.checkpoint.retention import Retention
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.checkpoint.streak import Streak
from trainer_hooks.checkpoint.turns import Turns
from trainer_hooks.errors import CheckpointError, ConfigError, StateError
from trainer_hooks.placing import pieces_of
from trainer_hooks.state import Snapshot, TrainState
from trainer_hooks.world import Store, World

log = logging.getLogger(__name__)

KEEP = Keep(last=2)
"""One that all ranks have, while another is on its way."""


class LocalTier:
    """One rank's local saves. Every rank has one, and makes the same calls.

    Args:
        directory: On a disk of this node; the ranks of other nodes have their own of that name.
        world: The ranks.
        attempt: This start of the job, the same on all ranks.

    Raises:
        ConfigError: The directory can't ever be written, or is another run's; on all ranks.
        CheckpointError: It can't be written now, being full, say; on all ranks.
    """

    def __init__(self, directory: Path, world: World, attempt: Attempt) -> None:
        self.durable_step: int | None = None
        """The newest step in what all nodes share, as ``resume`` has found it; None for nothing."""
        self._root = directory / f"rank_{world.rank:05d}_of_{world.size:05d}"
        self._world = world
        self._attempt = attempt
        failures = [failure for failure in world.from_all(_enter(self._root, attempt)) if failure]
        if failures:
            raise failures[0]
        alone = World(rank=0, size=1, store=cast("Store", HashStore()), group=None)
        self._checkpointer = Checkpointer(self._root, alone, attempt, save_every_steps=1)
        self._checkpointer.streak = Streak("local save")
        self._checkpointer.on_commit = Retention(self._root, KEEP, attempt).after_commit

    def resume(self, state: TrainState, durable: Place) -> ResumePoint | None:
        """Load the newest save that all ranks have, if it is newer than what all nodes share.

        All ranks call it. Afterwards no other local save of an earlier attempt is there.

        Args:
            state: What is loaded into.
            durable: The checkpoint directory that all ranks share.

        Returns:
            Where to go on; None where nothing newer is whole on every rank.

        Raises:
            StateError: It does not fit ``state``; on all ranks.
        """
        floor = self._world.from_coordinator(_floor(durable) if self._world.is_coordinator else 0)
        self.durable_step = floor or None
        common = set.intersection(*map(set, self._world.from_all(self._usable(floor))))
        point = None if not common else self._load(max(common), state)
        with contextlib.suppress(OSError):  # of one rank's disk, after all have loaded
            for name in saves(self._root):
                if point is None or str(name) != point.path.name:
                    _forget(self._root, name)
        return point

    def save(self, snapshot: Snapshot) -> None:
        """Start a save of what this rank holds; it blocks for the stall only."""
        tensors = {name: local_part(tensor) for name, tensor in snapshot.tensors.items()}
        placing = [snapshot.placing, pieces_of(snapshot.tensors)]
        self._checkpointer.save(replace(snapshot, tensors=tensors, placing=placing))

    def take_turns(self, turns: Turns) -> None:
        """Write in turns with the other ranks of this node, from the next save on."""
        self._checkpointer.turns = turns

    def wait(self) -> None:
        """Wait until no local save is in flight."""
        self._checkpointer.wait(None)

    def close(self, linger_s: float = 0.0) -> None:
        """Release the buffers; wait so long until old local saves are deleted."""
        self._checkpointer.close(linger_s)

    def _usable(self, floor: int | None) -> list[SaveName]:
        """Return what this rank could go on from."""
        if floor is None:
            return []
        try:
            names = [found.marker.name for found in committed(self._root)]
        except CheckpointError as error:
            log.warning("local saves are not used: %s", error)
            return []
        before = self._attempt.before  # by its token: another run counts its starts from 1 too
        return [name for name in names if str(name.attempt) == before and name.step > floor]

    def _load(self, name: SaveName, state: TrainState) -> ResumePoint | None:
        """Load a save on all ranks, or say on all why it is passed over."""
        loading = LocalLoad(self._root / str(name))
        stages = (
            loading.verify,
            lambda: loading.compare(state),
            loading.read,
            lambda: loading.restore(state),
        )
        for stage in stages:
            failures = [failure for failure in self._world.from_all(_tried(stage)) if failure]
            for misfit in (each for each in failures if isinstance(each, StateError)):
                raise misfit  # on all ranks: others may hold other stages, and have met none
            if failures:
                log.error("passed over the local %s: %s", name, "; ".join(map(str, failures)))
                return None
        if self._world.is_coordinator:
            log.warning(
                "RESUMED step=%d from=%s ranks=%d rng=restored local=yes",
                name.step,
                name,
                self._world.size,
            )
        return loading.point


def _tried(stage: Callable[[], None]) -> str | StateError | None:
    try:
        stage()
    except StateError as error:
        return error
    except (CheckpointError, OSError) as error:  # on this rank alone: the others wait for it
        return str(error)
    return None


def _enter(root: Path, attempt: Attempt) -> ConfigError | CheckpointError | None:
    """Take the attempt's number here too, which fences off earlier ones; say why it can't be."""
    try:
        make_directory(root / ATTEMPTS)
        newest = newest_attempt(root)
        if _is_another_runs(root, newest, attempt):
            return ConfigError(
                f"{root} holds local saves of another run: choose another directory, or empty it"
            )
        create_file(root / ATTEMPTS / str(attempt.number), f"{attempt}\n".encode())
        for older in (root / ATTEMPTS).iterdir():
            if older.name != str(attempt.number):
                with contextlib.suppress(OSError):  # the number is ours, whatever lies there
                    older.unlink(missing_ok=True)
    except (OSError, CheckpointError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        is_lasting = isinstance(cause, OSError) and cause.errno in LASTING
        kind = ConfigError if is_lasting else CheckpointError
        return kind(
            f"no local saves can be made in {root}: {error}. Make it writable, free space on it, "
            "or choose another"
        )
    return None


def _is_another_runs(root: Path, newest: int, attempt: Attempt) -> bool:
    """Tell whether another run's start has been here last, as far as its number or name says so."""
    if newest >= attempt.number:
        return True
    theirs = name_in(root / ATTEMPTS / str(newest))
    is_known = newest == attempt.number - 1 and None not in (theirs, attempt.before)
    return is_known and theirs != attempt.before  # else, nothing of it is resumed from


def _floor(durable: Place) -> int | None:
    """Return the step that a resume begins at in any case; None if nothing may be newer.

    What was put in quarantine is behind every save that came after it.
    """
    try:
        newest = next(committed(durable), None)
        quarantined = names_with(durable, Mark.QUARANTINED)
    except CheckpointError:
        return None  # the resume from there says so
    if newest is None:
        return None if quarantined else 0
    return None if any(name > newest.marker.name for name in quarantined) else newest.step


def _forget(root: Path, name: SaveName) -> None:
    discard(root, name)
    with contextlib.suppress(CheckpointError):
        delete_checkpoint(root, name)
