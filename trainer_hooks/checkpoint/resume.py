"""Resuming: one rank chooses, all verify, and nothing is used before all agree that it is whole."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import CheckpointException

from trainer_hooks.checkpoint.cause import root_cause
from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.kept import Kept, room_of_rank
from trainer_hooks.checkpoint.latest import (
    Checkpoint,
    committed,
    damaged_files,
    marked,
    open_checkpoint,
)
from trainer_hooks.checkpoint.layout import Attempt, is_shard
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.prepared import Prepared, prepare
from trainer_hooks.checkpoint.rank_state import RankState
from trainer_hooks.checkpoint.stages import refuse_left_out
from trainer_hooks.checkpoint.tries import note_survived, to_try
from trainer_hooks.errors import CheckpointError, StateError
from trainer_hooks.rng import restore_rng, seed_rng
from trainer_hooks.state import TrainState
from trainer_hooks.world import World

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """Where a run goes on."""

    step: int
    """Steps finished when the checkpoint was taken."""
    path: Place
    own_rng: RankState | None
    """This rank's own state, if as many ranks wrote the checkpoint, and stood as they do now."""
    took_s: float | None
    """Seconds that its save took, if the same number of ranks made it, and it says so."""
    marker: CommitMarker

    def restore_rng(self, seed: int, rank: int) -> None:
        """Set this rank's generators. Last of all, just before the first step.

        Args:
            seed: The run's.
            rank: Whom this rank draws like, where what it has drawn before is of no use: itself, or
                the data-parallel rank that tensor-parallel peers share.

        Raises:
            StateError: The captured state does not fit this process.
        """
        if self.own_rng is not None:
            restore_rng(self.own_rng.rng)
        else:
            seed_rng(seed, self.step, rank)


class Verify(StrEnum):
    """How closely a checkpoint is looked at before any of it is used."""

    SIZES = "sizes"
    """The marker and the length of every file; digests only of the small ones, the shards' bytes
    being taken on trust. For storage that keeps digests of its own."""
    ALL = "all"
    """The digest of every byte, each read by exactly one rank."""


def resume(
    root: Place,
    state: TrainState,
    world: World,
    *,
    attempt: Attempt | None = None,
    verify: Verify = Verify.ALL,
) -> ResumePoint | None:
    """Load the newest checkpoint that is whole into ``state``. All ranks call it.

    A damaged checkpoint is passed over on all ranks together, loudly, for the one before it.
    RNG is left alone: it is restored last (``ResumePoint.restore_rng``).

    Args:
        root: The checkpoint directory.
        state: What is loaded into.
        world: The ranks.
        attempt: This start of the job, the same on all ranks. With it the checkpoint is kept from
            being deleted, and is given up for the one before once it has crashed several attempts.
        verify: How closely a checkpoint is looked at.

    Returns:
        Where to go on, or None for a fresh start: nothing is committed under ``root``.

    Raises:
        CheckpointError: Checkpoints are there and none of them is whole; a fresh start over them
            would hide that, so nothing is loaded. Or it cannot be told what is there.
    """
    whole: Iterator[Checkpoint] = iter(())
    if world.is_coordinator:
        whole = committed(root) if attempt is None else to_try(root, attempt)
    while True:
        name, failure = world.from_coordinator(_choose(root, whole, world))
        if failure is not None:
            raise failure
        if name is None:
            return None
        path = root / name
        try:
            point, damage = _try(path, state, world, verify)
        except StateError:
            if attempt is not None and world.is_coordinator:
                note_survived(path, attempt)  # the program has changed: no fault of the checkpoint
            raise
        if point is not None:
            return point
        log.error("passed over %s: %s", path, "; ".join(damage))


def _choose(
    root: Place, whole: Iterator[Checkpoint], world: World
) -> tuple[str | None, CheckpointError | None]:
    """Return which checkpoint to try, or nothing at a fresh start, or why there is neither.

    Only the coordinator chooses; what it meets is raised on all ranks, or they would wait for it.
    """
    if not world.is_coordinator:
        return None, None
    try:
        chosen = next(whole, None)
        were_committed = [] if chosen is not None else marked(root)
    except CheckpointError as error:
        return None, error
    if were_committed:
        return None, CheckpointError(
            f"no checkpoint under {root} is whole, and there were some: {were_committed}. Restore "
            "one from a copy, take one out of quarantine if it is in, or move them away to start "
            "from the beginning"
        )
    return (None if chosen is None else chosen.path.name), None


def _try(
    path: Place, state: TrainState, world: World, verify: Verify
) -> tuple[ResumePoint | None, list[str]]:
    """Load one checkpoint on all ranks, or on none; return what any rank found wrong with it.

    What a rank meets alone is told to all before the next collective, which it would miss.
    """
    kept = Kept(room_of_rank(world.size))
    damage = _gather(_damage(path, world, verify, kept), world)
    if damage:
        return None, damage
    prepared, error = _prepare(path, state, world, kept)
    errors = _gather(error, world)
    if prepared is None or errors:
        return None, _no_misfit(errors)
    refuse_left_out(prepared.whole, prepared.part, world)
    if not all(world.from_all(prepared.stands_alike)):  # on one: then what each has is nobody's
        prepared = replace(prepared, own=None)
    failures = _gather(_load(prepared, state, world), world)
    if failures:
        return None, _no_misfit(failures)
    point = _point(path, prepared, is_same_world=prepared.marker.world_size == world.size)
    if world.is_coordinator:
        _announce(point, world)
    return point, []


def _point(path: Place, prepared: Prepared, *, is_same_world: bool) -> ResumePoint:
    return ResumePoint(
        step=prepared.marker.name.step,
        path=path,
        own_rng=prepared.own,
        took_s=prepared.marker.took_s if is_same_world else None,
        marker=prepared.marker,
    )


def _no_misfit(errors: Sequence[CheckpointError | StateError]) -> list[str]:
    """Raise on all ranks what one has met where others, which hold other stages, have met none."""
    for misfit in (each for each in errors if isinstance(each, StateError)):
        raise misfit
    return [*map(str, errors)]


def _gather(mine: list[T], world: World) -> list[T]:
    return [found for of_rank in world.from_all(mine) for found in of_rank]


def _damage(path: Place, world: World, verify: Verify, kept: Kept) -> list[str]:
    """Digest this rank's share of the files, so that each is read by exactly one rank."""
    try:
        checkpoint = open_checkpoint(path)
        if verify is Verify.SIZES:
            small = [entry for entry in checkpoint.marker.files if not is_shard(entry.name)]
            marker = replace(checkpoint.marker, files=tuple(small))
            checkpoint = replace(checkpoint, marker=marker)
        damaged = damaged_files(checkpoint, share=world.rank, shares=world.size, kept=kept)
    except (CheckpointError, OSError) as error:
        return [f"rank {world.rank}: {error}"]
    return [f"{name} is damaged, its digest differs" for name in damaged]


def _prepare(
    path: Place, state: TrainState, world: World, kept: Kept
) -> tuple[Prepared | None, list[CheckpointError | StateError]]:
    """Read what this rank reads alone; return it, or why it could not be read or does not fit."""
    try:
        return prepare(path, state, world, kept), []
    except (CheckpointError, OSError) as error:  # a store in trouble too: the others wait
        return None, [CheckpointError(f"rank {world.rank}: {error}")]
    except StateError as error:
        return None, [error]


def _load(
    prepared: Prepared, state: TrainState, world: World
) -> list[CheckpointError | StateError]:
    """Load into ``state``; return why it could not be done."""
    try:
        dcp.load(
            prepared.tensors,
            storage_reader=prepared.reader,
            process_group=world.group,
            no_dist=world.group is None,
        )
    except CheckpointException as error:
        return [CheckpointError(f"rank {world.rank}: {root_cause(error)}")]
    own = None if prepared.own is None else prepared.own.leaves
    try:
        state.restore(prepared.tensors, prepared.shared.leaves, own)
    except StateError as error:  # of the program, not of the checkpoint
        return [error]
    return []


def _announce(point: ResumePoint, world: World) -> None:
    written_by = point.marker.world_size
    rng = "restored"
    if written_by != world.size:
        rng = f"re-seeded, was {written_by}"
    elif point.own_rng is None:
        rng = "re-seeded, was another mesh"
    log.warning(
        "RESUMED step=%d from=%s ranks=%d rng=%s",
        point.step,
        point.path.name,
        world.size,
        rng,
    )
