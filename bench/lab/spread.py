"""A training state of a given size, spread over the ranks by FSDP2, as a bench saves it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from trainer_hooks import TrainState

WIDTH = 1024
"""Of each layer, whose one weight and two moments are 12 MiB, over all ranks."""

_WEIGHT = "0.weight"


class SpreadState:
    """A model and its AdamW, which has stepped once; each rank has the same part of both.

    All ranks make one.

    Args:
        rank_mb: Millions of bytes that each rank has, rounded to whole layers.
    """

    def __init__(self, rank_mb: float) -> None:
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        layer_bytes = 3 * 4 * WIDTH * WIDTH / dist.get_world_size()
        layers = max(1, round(rank_mb * 1e6 / layer_bytes))
        self.rank_bytes = round(layers * layer_bytes)
        torch.manual_seed(dist.get_rank())
        self.model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(layers)))
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.train_state = TrainState(
            model=self.model, optimizer=self.optimizer, scheduler=None, scaler=None, data=None
        )
        for parameter in self.model.parameters():
            parameter.grad = torch.ones_like(parameter)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._before = [tensor.clone() for tensor in self._looked_at()]

    def spoil(self) -> None:
        """Change some of it, so that a load has something to do."""
        for tensor in self._looked_at():
            tensor.zero_()

    def check(self) -> None:
        """See that a load has brought back what was there.

        Raises:
            RuntimeError: It has not, so what it took is no figure.
        """
        for before, tensor in zip(self._before, self._looked_at(), strict=True):
            if not torch.equal(before, tensor):
                raise RuntimeError("what was loaded is not what was saved")

    def _looked_at(self) -> list[torch.Tensor]:
        """Return this rank's part of one weight and of its moments."""
        weight = dict(self.model.named_parameters())[_WEIGHT]
        moments = self.optimizer.state[weight]
        named = (weight.detach(), moments["exp_avg"], moments["exp_avg_sq"])
        return [tensor.to_local() for tensor in named if isinstance(tensor, DTensor)]
