"""What is not the checkpoint's is refused by name, before a step is made with it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import SGD, Adagrad, Adamax, AdamW, Optimizer, RMSprop

from tests.support.training import Run, load, stored
from trainer_hooks.errors import StateError
from trainer_hooks.state import TrainState

Make = Callable[[list[torch.nn.Parameter]], Optimizer]


def rebuilt(make: Make, *, scheduler: str = "none") -> Run:
    """Return a run with another optimizer over what its own has trained."""
    run = Run(scheduler=scheduler)
    run.optimizer = make(run.optimizer.param_groups[0]["params"])
    run.state = TrainState(
        model=run.model,
        optimizer=run.optimizer,
        scheduler=None,
        scaler=None,
        data=None,
        extras={"average": run.average},
    )
    return run


def trained(make: Make) -> Run:
    """Return a run that has made a step with it."""
    run = rebuilt(make)
    run.step()
    return run


def halves(parameters: list[Any], cut: int = 2) -> list[dict[str, Any]]:
    """Return two groups with settings of their own."""
    return [{"params": parameters[:cut], "lr": 0.1}, {"params": parameters[cut:], "lr": 0.2}]


@pytest.mark.parametrize(
    "make",
    [
        lambda parameters: SGD(parameters, lr=0.1, momentum=0.9),
        RMSprop,
        Adagrad,
        Adamax,
    ],
    ids=["sgd", "rmsprop", "adagrad", "adamax"],
)
def test_checkpoint_is_refused_when_it_is_of_another_optimizer(make: Make) -> None:
    """The first step would raise KeyError; both ways round."""
    snapshot = stored(trained(AdamW).state.capture(1))
    with pytest.raises(StateError, match=r"another optimizer: .* only there, .* only here"):
        load(rebuilt(make).state, snapshot)
    snapshot = stored(trained(make).state.capture(1))
    with pytest.raises(StateError, match=r"another optimizer: .* only there, .* only here"):
        load(rebuilt(AdamW).state, snapshot)


@pytest.mark.parametrize("end", [-1, 1])
def test_checkpoint_is_refused_when_other_parameters_are_trained(end: int) -> None:
    """Fewer or more: what the others had gathered would be dropped without a word."""
    snapshot = stored(trained(AdamW).state.capture(1))
    with pytest.raises(StateError, match=r"trains other parameters: .* only there"):
        load(rebuilt(lambda parameters: AdamW(parameters[:end])).state, snapshot)
    fewer = stored(trained(lambda parameters: AdamW(parameters[:end])).state.capture(1))
    with pytest.raises(StateError, match=r"trains other parameters: .* only here"):
        load(rebuilt(AdamW).state, fewer)


@pytest.mark.parametrize(
    "make",
    [AdamW, lambda parameters: AdamW(halves(parameters, 3))],
    ids=["one group", "cut elsewhere"],
)
def test_checkpoint_is_refused_when_its_groups_are_others(make: Make) -> None:
    """Each has settings of its own, and one would get the other's."""
    snapshot = stored(trained(lambda parameters: AdamW(halves(parameters))).state.capture(1))
    with pytest.raises(StateError, match="in other groups: 2 there"):
        load(rebuilt(make).state, snapshot)


def test_groups_are_found_by_their_parameters_when_their_order_differs() -> None:
    """Each gets its own settings."""
    snapshot = stored(trained(lambda parameters: AdamW(halves(parameters))).state.capture(1))
    run = rebuilt(lambda parameters: AdamW(halves(parameters)[::-1], lr=9.0))
    load(run.state, snapshot)
    assert [group["lr"] for group in run.optimizer.param_groups] == [0.2, 0.1]
    run.step()


def test_checkpoint_is_refused_when_it_is_of_another_schedule() -> None:
    """torch would take over what the other one has, and go on with its own."""
    run = Run(scheduler="cosine")
    run.step()
    snapshot = stored(run.state.capture(1))
    with pytest.raises(StateError, match=r"another schedule: .*T_max.* only there, .*lr_lam"):
        load(Run(scheduler="lambda").state, snapshot)
