"""What a run may carry beside model and optimizer, as ``TrainState(extras=...)``. Copy these.

Each is a few lines with ``state_dict`` and ``load_state_dict``. Two rules: tensors are there before
the first step, so that a resume loads into shards where there are shards; and what is not equal on
all ranks is sharded by DTensor, as the parameters under ``fully_shard`` are.
"""

from typing import Any

import torch
from torch import nn


class Ema:
    """An exponential moving average of the parameters; sharded where they are.

    Call ``update`` after each optimizer step::

        ema = Ema(model)
        state = TrainState(..., extras={"ema": ema})

    Args:
        model: Followed. Under DDP its ``module``; under FSDP2 and tensor parallelism after they
            have been applied.
        decay: What is kept of the average at each update.
    """

    def __init__(self, model: nn.Module, decay: float = 0.999) -> None:
        self._model = model
        self._decay = decay
        self.average = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self) -> None:
        """Follow the model."""
        for name, parameter in self._model.named_parameters():
            self.average[name].lerp_(parameter.detach(), 1 - self._decay)

    def state_dict(self) -> dict[str, Any]:
        """Return the averages, the live ones."""
        return {"average": dict(self.average)}

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Set the averages."""
        for name, average in self.average.items():
            average.copy_(state_dict["average"][name])


class MasterWeights(nn.Module):
    """The parameters of a model of bfloat16 in fp32, which the optimizer updates.

    They are the ``TrainState``'s model, because the optimizer is over them. The model that computes
    is an extra, ``Working``: its weights are rounded from these, its buffers are its own::

        masters = MasterWeights(model)
        working = Working(model, masters)
        optimizer = AdamW(masters.parameters())
        state = TrainState(model=masters, optimizer=optimizer, ..., extras={"working": working})

    Under FSDP2 nothing of this is needed: a ``MixedPrecisionPolicy`` computes in bfloat16 from
    parameters that stay fp32.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.weights = nn.ParameterDict(
            # A parameter's name may hold no dot here.
            {name.replace(".", "/"): p.detach().float() for name, p in model.named_parameters()}
        )


class Working:
    """The model that computes with what its master weights round to."""

    def __init__(self, model: nn.Module, masters: MasterWeights) -> None:
        self._model = model
        self._pairs = [
            (parameter, masters.weights[name.replace(".", "/")])
            for name, parameter in model.named_parameters()
        ]

    @torch.no_grad()
    def pass_gradients(self) -> None:
        """Give the masters the gradients of the model. Just before the optimizer's step."""
        for parameter, master in self._pairs:
            master.grad = None if parameter.grad is None else parameter.grad.float()
            parameter.grad = None

    @torch.no_grad()
    def round(self) -> None:
        """Round the masters into the model. Just after the optimizer's step."""
        for parameter, master in self._pairs:
            parameter.copy_(master)

    def state_dict(self) -> dict[str, Any]:
        """Return the buffers: the weights are the masters'."""
        return {"buffers": dict(self._model.named_buffers())}

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Set the buffers, and the weights from the masters, which are restored by now."""
        for name, buffer in self._model.named_buffers():
            buffer.copy_(state_dict["buffers"][name])
        self.round()
