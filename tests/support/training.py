"""A training run of one process in a few lines: small, and with all that must come back."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.optim import SGD, AdamW, Optimizer
from torch.optim import lr_scheduler as lr

from trainer_hooks.leaves import tensor_paths
from trainer_hooks.of_each_rank import Stateful
from trainer_hooks.rng import restore_rng
from trainer_hooks.state import Snapshot, TrainState
from trainer_hooks.untrusted import Json

OPTIMIZERS: dict[str, Callable[[Any], Optimizer]] = {
    "adamw": lambda parameters: AdamW(parameters, lr=0.01),
    "amsgrad": lambda parameters: AdamW(parameters, lr=0.01, amsgrad=True),
    "sgd": lambda parameters: SGD(parameters, lr=0.01, weight_decay=0.1),
    "momentum": lambda parameters: SGD(parameters, lr=0.01, momentum=0.9, nesterov=True),
}

SCHEDULERS: dict[str, Callable[[Optimizer], Any]] = {
    "none": lambda _: None,
    "lambda": lambda optimizer: lr.LambdaLR(optimizer, lambda step: 1 / (step + 1)),
    "cosine": lambda optimizer: lr.CosineAnnealingLR(optimizer, 20),
    "one-cycle": lambda optimizer: lr.OneCycleLR(optimizer, 0.1, 100, cycle_momentum=False),
    "sequential": lambda optimizer: lr.SequentialLR(
        optimizer,
        [lr.LinearLR(optimizer, 0.1, 1.0, 3), lr.CosineAnnealingLR(optimizer, 20)],
        milestones=[4],
    ),
    "plateau": lambda optimizer: lr.ReduceLROnPlateau(optimizer, patience=1),  # holds inf
}


class Net(nn.Module):
    """Dropout, a buffer, tied weights, a frozen layer, and one that no loss ever reaches."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.dropout = nn.Dropout(0.3)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.first.weight
        self.frozen = nn.Linear(4, 4).requires_grad_(requires_grad=False)
        self.unused = nn.Linear(4, 4)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return one number a sample."""
        hidden = self.dropout(self.norm(self.first(inputs)))
        return self.frozen(self.tied(hidden)).square().mean(dim=1)  # type: ignore[no-any-return]  # torch's modules return Any


class MovingAverage:
    """An extra that has no tensor before it is first updated."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.average: dict[str, torch.Tensor] = {}

    def update(self) -> None:
        """Follow the model."""
        for name, parameter in self._model.named_parameters():
            now = parameter.detach().clone()
            self.average[name] = self.average.get(name, now).lerp(now, 0.1)

    def state_dict(self) -> dict[str, Any]:
        """Return the averages."""
        return {"average": dict(self.average)}

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Set the averages."""
        self.average = {name: tensor.clone() for name, tensor in state_dict["average"].items()}


class Run:
    """A model in training."""

    def __init__(
        self,
        *,
        optimizer: str = "adamw",
        scheduler: str = "lambda",
        scaler: torch.amp.GradScaler | None = None,
        data: Stateful | None = None,
        seed: int = 0,
    ) -> None:
        torch.manual_seed(seed)
        self.model = Net()
        self.optimizer = OPTIMIZERS[optimizer](
            [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        )
        self.scheduler = SCHEDULERS[scheduler](self.optimizer)
        self.scaler = scaler or torch.amp.GradScaler("cpu", enabled=False)
        self.average = MovingAverage(self.model)
        self.learning_rates: list[float] = []
        self.state = TrainState(
            model=self.model,
            optimizer=self.optimizer,
            scheduler=self.scheduler,
            scaler=scaler,
            data=data,
            extras={"average": self.average},
        )

    def step(self, steps: int = 1) -> None:
        """Train some steps, on random data."""
        for _ in range(steps):
            loss = self.model(torch.rand(8, 4)).mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            self.average.update()
            self.learning_rates.append(self.optimizer.param_groups[0]["lr"])
            if self.scheduler is not None:
                by_loss = isinstance(self.scheduler, lr.ReduceLROnPlateau)
                self.scheduler.step(*([loss.item()] if by_loss else []))

    def all(self) -> list[Any]:
        """Return all that training depends on, bit for bit comparable."""
        parts: list[Any] = [
            dict(self.model.state_dict()),
            self.optimizer.state_dict(),
            self.average.average,
            self.scaler.state_dict(),
            torch.get_rng_state(),
        ]
        if self.scheduler is not None:
            parts.append(self.scheduler.state_dict())
        return [plain(part) for part in parts]

    def load(self, snapshot: Snapshot) -> None:
        """Take over what ``stored`` has made of a snapshot, as a resume does."""
        load(self.state, snapshot)


def load(state: TrainState, snapshot: Snapshot, own: Mapping[str, Json] | None = None) -> None:
    """Load a snapshot into a state, with a rank's own part of it, as a resume does."""
    named = tensor_paths(dict(snapshot.leaves))
    ours = state.template()
    targets = {path: ours.get(path, torch.empty_like(snapshot.tensors[path])) for path in named}
    with torch.no_grad():
        for path, target in targets.items():
            target.copy_(snapshot.tensors[path])
    state.restore(targets, snapshot.leaves, own)
    restore_rng(snapshot.rng)


def stored(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot as a checkpoint would hold it: tensors copied, the rest through JSON."""
    return Snapshot(
        step=snapshot.step,
        tensors={path: tensor.detach().clone() for path, tensor in snapshot.tensors.items()},
        leaves=json.loads(json.dumps(snapshot.leaves, allow_nan=False)),
        rng=json.loads(json.dumps(snapshot.rng, allow_nan=False)),
    )


def plain(value: object) -> object:
    """Return a value in which tensors are their bytes, so that == compares all of it."""
    if isinstance(value, torch.Tensor):
        return (
            value.dtype,
            tuple(value.shape),
            value.contiguous().flatten().view(torch.uint8).numpy().tobytes(),
        )
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if not callable(item)}
    if isinstance(value, list | tuple):
        return type(value)(plain(item) for item in value)
    return value
