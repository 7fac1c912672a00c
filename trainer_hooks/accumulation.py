"""How a global batch is held when the number of ranks changes: a plan of micro-batches. Pure.

The samples of a global batch are dealt to the ranks in turn, so that one that does not divide
gives some ranks a sample more. Every rank makes the same number of micro-batches all the same,
because each forward and backward may hold a collective, and each micro-batch's loss has a weight:
what ranks average is then exactly the mean over the samples of the global batch.
"""

from dataclasses import dataclass

from trainer_hooks.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class AccumulationPlan:
    """What each rank does in a step; the same object on all ranks."""

    global_batch: int
    """Samples that all ranks see together in a step."""
    world_size: int
    micro_batch: int
    """Samples that one forward holds, at most."""
    accepts_other_batch: bool
    """Whether a global batch other than the one asked for, or trained with so far, is wanted."""
    asked_for: int
    """The global batch that was asked for: another one only where that was accepted."""

    @property
    def micro_batches(self) -> int:
        """Forwards and backwards in a step, on every rank."""
        return -(-self._share(0) // self.micro_batch)

    def sizes(self, rank: int) -> tuple[int, ...]:
        """Return how many samples of a rank's micro-batches count, by micro-batch.

        They differ by one at most. A zero is a micro-batch of one sample that counts for nothing,
        made because the other ranks make one.
        """
        each, more = divmod(self._share(rank), self.micro_batches)
        return (each + 1,) * more + (each,) * (self.micro_batches - more)

    def weights(self, rank: int) -> tuple[float, ...]:
        """Return what to multiply the mean loss of each of a rank's micro-batches by.

        For gradients that are summed over micro-batches and averaged over ranks, as DDP and FSDP
        do; over a rank alone they add up to about 1, and over all ranks to their number.
        """
        return tuple(self.world_size * size / self.global_batch for size in self.sizes(rank))

    def _share(self, rank: int) -> int:
        """Return how many samples a rank is dealt; rank 0 never has fewer than another."""
        return len(range(rank, self.global_batch, self.world_size))


def plan_accumulation(
    global_batch: int, world_size: int, micro_batch: int, *, accept_other_batch: bool = False
) -> AccumulationPlan:
    """Plan how so many ranks hold a global batch, of whatever size it is.

    Args:
        global_batch: Samples of a step, over all ranks.
        world_size: Number of ranks.
        micro_batch: Samples that one forward holds, at most.
        accept_other_batch: Take the multiple of ``world_size * micro_batch`` that is nearest to
            ``global_batch`` where that does not divide, and go on from a checkpoint that was
            trained with another one. It is another training then, and the log says so.

    Raises:
        ConfigError: A number makes no sense, or there are more ranks than samples.
    """
    if min(global_batch, world_size, micro_batch) < 1:
        raise ConfigError(
            f"a global batch of {global_batch} samples on {world_size} ranks, {micro_batch} at a "
            "time: each has to be at least 1"
        )
    taken = global_batch
    if accept_other_batch and global_batch % world_size:
        turn = world_size * micro_batch
        taken = max(1, round(global_batch / turn)) * turn
    if taken < world_size:
        raise ConfigError(
            f"{world_size} ranks cannot share a global batch of {global_batch} samples: start "
            "fewer, or pass accept_other_batch=True to take a larger batch"
        )
    return AccumulationPlan(
        global_batch=taken,
        world_size=world_size,
        micro_batch=micro_batch,
        accepts_other_batch=accept_other_batch,
        asked_for=global_batch,
    )
