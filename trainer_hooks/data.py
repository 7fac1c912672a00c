"""ResumableSampler: the data position is one number, whatever the number of ranks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch.distributed as dist
from torch.utils.data import Sampler

from trainer_hooks.errors import ConfigError, StateError
from trainer_hooks.order import Order, RunningOn, whole_number
from trainer_hooks.untrusted import Json


@dataclass(frozen=True, slots=True)
class GlobalBatch:
    """How many samples all ranks take together before they have all taken as many turns."""

    samples: int
    is_planned: bool
    """Whether it is a step's, by an accumulation plan; else what one batch of each rank holds."""


class ResumableSampler(Sampler[int]):
    """An endless stream of sample ids whose order is a function of (seed, epoch, index).

    The ranks take turns on one global stream: rank r of w gets samples r, r + w, r + 2w ... after
    the position, so the samples of a global batch are the same at any number of ranks that keeps
    its size. Seeking costs nothing and nothing is stored but the position.

    ``hooks.batches`` advances the position when a batch is handed out; samples that workers have
    fetched ahead do not count.

    Args:
        order: Number of samples in the data set, for epochs that run on into each other; or
            ``WholeBatches``, or ``WeightedShards``.
        seed: Chooses the order; the same on all ranks.
        shuffle: False walks each epoch in the data set's own order.
        rank: This rank; None asks torch.distributed.
        world_size: Number of ranks; None asks torch.distributed.

    Raises:
        ConfigError: There is no sample, no such rank, or something is no whole number.
    """

    def __init__(
        self,
        order: int | Order,
        *,
        seed: int = 0,
        shuffle: bool = True,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        together = dist.is_available() and dist.is_initialized()
        if rank is None:
            rank = dist.get_rank() if together else 0
        if world_size is None:
            world_size = dist.get_world_size() if together else 1
        is_order = hasattr(order, "id_at")
        self.order: Order = order if is_order else RunningOn(whole_number("order", order))  # type: ignore[assignment]  # just asked
        self.seed = whole_number("seed", seed)
        self.shuffle = shuffle
        self.rank = whole_number("rank", rank)
        self.world_size = whole_number("world_size", world_size)
        if not 0 <= self.rank < self.world_size:
            raise ConfigError(f"rank {rank} is none of {world_size}: they are counted from 0")
        self.position = 0
        """Samples handed out so far, over all ranks and epochs."""
        self.global_batch: GlobalBatch | None = None
        """What was handed out together last, before a resume or after; None before the first."""

    @property
    def size(self) -> int:
        """Samples of the data set."""
        return self.order.size

    @property
    def epoch(self) -> int:
        """The epoch that the position lies in, from 0."""
        return self.position // self.order.epoch_samples

    def __iter__(self) -> Iterator[int]:
        """Yield this rank's sample ids from the position on, without end."""
        index = self.position + self.rank
        while True:
            yield self.id_at(index)
            index += self.world_size

    def id_at(self, index: int) -> int:
        """Return the sample at an index of the global stream."""
        return self.order.id_at(index, seed=self.seed, shuffle=self.shuffle)

    def ids_since(self, position: int) -> list[int]:
        """Return what this rank was dealt from a position up to the present one."""
        batch = self.global_batch
        turn = batch.samples if batch and batch.is_planned else self.position - position
        return [
            self.id_at(index)
            for start in range(position, self.position, max(1, turn))
            for index in range(start + self.rank, start + turn, self.world_size)
        ]

    def advance(self, samples: int) -> None:
        """Count ``samples`` of this rank, and as many of each other one, as handed out."""
        self.position += samples * self.world_size

    def state_dict(self) -> dict[str, Json]:
        """Return the position and what gives it its meaning."""
        batch = self.global_batch
        return {
            "position": self.position,
            "global_batch": None if batch is None else batch.samples,
            "is_planned": batch is not None and batch.is_planned,
            **self._stream(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Json]) -> None:
        """Go to a position.

        Raises:
            StateError: The position belongs to another order of the data, or is none.
        """
        theirs = dict(state_dict)
        position, samples = theirs.pop("position", None), theirs.pop("global_batch", None)
        is_planned = bool(theirs.pop("is_planned", False))
        ours = self._stream()
        differing = [k for k in (ours | theirs) if theirs.get(k) != ours.get(k)]
        if differing:
            raise StateError(
                "the data position belongs to another stream: "
                + ", ".join(f"{k} was {theirs.get(k)}, is {ours.get(k)}" for k in differing)
            )
        if not isinstance(position, int) or isinstance(position, bool) or position < 0:
            raise StateError(f"the data position is {position!r}, which is no number of samples")
        self.position = position
        self.global_batch = None
        if isinstance(samples, int) and samples > 0:
            self.global_batch = GlobalBatch(samples, is_planned)

    def _stream(self) -> dict[str, Json]:
        described = {"seed": self.seed, "size": self.size, "shuffle": self.shuffle}
        return described | self.order.describe()
