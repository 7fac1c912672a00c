"""ResumableSampler: the data position is one number, whatever the number of ranks."""

from collections.abc import Iterator

import torch.distributed as dist
from torch.utils.data import Sampler

from trainer_hooks.errors import ConfigError, StateError
from trainer_hooks.permutation import Permutation


class ResumableSampler(Sampler[int]):
    """An endless stream of sample ids whose order is a function of (seed, epoch, index).

    The ranks take turns on one global stream: rank r of w gets samples r, r + w, r + 2w ... after
    the position, so the samples of a global batch are the same at any number of ranks that keeps
    its size. Seeking costs nothing and nothing is stored but the position.

    ``hooks.batches`` advances the position when a batch is handed out; samples that workers have
    fetched ahead do not count.

    Args:
        size: Number of samples in the data set.
        seed: Chooses the order; the same on all ranks.
        shuffle: False walks each epoch in the data set's own order.
        rank: This rank; None asks torch.distributed.
        world_size: Number of ranks; None asks torch.distributed.
    """

    def __init__(
        self,
        size: int,
        *,
        seed: int = 0,
        shuffle: bool = True,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        if size < 1:
            raise ConfigError(f"a sampler needs at least one sample, not {size}")
        together = dist.is_available() and dist.is_initialized()
        self.size = size
        self.seed = seed
        self.shuffle = shuffle
        self.rank = rank if rank is not None else (dist.get_rank() if together else 0)
        self.world_size = world_size or (dist.get_world_size() if together else 1)
        self.position = 0
        """Samples handed out so far, over all ranks and epochs."""

    @property
    def epoch(self) -> int:
        """The epoch that the position lies in, from 0."""
        return self.position // self.size

    def __iter__(self) -> Iterator[int]:
        """Yield this rank's sample ids from the position on, without end."""
        index = self.position + self.rank
        epoch, order = -1, Permutation.of(self.size, seed=self.seed, epoch=0)
        while True:
            if index // self.size != epoch:
                epoch = index // self.size
                order = Permutation.of(self.size, seed=self.seed, epoch=epoch)
            yield order[index % self.size] if self.shuffle else index % self.size
            index += self.world_size

    def advance(self, samples: int) -> None:
        """Count ``samples`` of this rank, and as many of each other one, as handed out."""
        self.position += samples * self.world_size

    def state_dict(self) -> dict[str, int | bool]:
        """Return the position and what gives it its meaning."""
        return {
            "position": self.position,
            "seed": self.seed,
            "size": self.size,
            "shuffle": self.shuffle,
        }

    def load_state_dict(self, state_dict: dict[str, int | bool]) -> None:
        """Go to a position.

        Raises:
            StateError: The position belongs to another order of the data.
        """
        ours = self.state_dict()
        differing = [k for k in ("seed", "size", "shuffle") if state_dict.get(k) != ours[k]]
        if differing:
            raise StateError(
                "the data position belongs to another stream: "
                + ", ".join(f"{k} was {state_dict.get(k)}, is {ours[k]}" for k in differing)
            )
        self.position = int(state_dict["position"])
