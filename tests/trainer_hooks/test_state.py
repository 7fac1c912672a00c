"""TrainState: what is captured comes back, all of it, and capturing changes nothing."""

from typing import Any

import pytest
import torch
from torch import nn

from tests.support.training import OPTIMIZERS, SCHEDULERS, Run, stored
from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import StateError
from trainer_hooks.rng import restore_rng
from trainer_hooks.state import TrainState


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_training_goes_on_bitwise_when_its_state_was_captured_and_restored(
    optimizer: str, scheduler: str
) -> None:
    """Weights, moments, learning rates, averages and random numbers, in a run that began anew."""
    straight = Run(optimizer=optimizer, scheduler=scheduler)
    straight.step(3)
    kept = stored(straight.state.capture(3))
    straight.step(5)
    resumed = Run(optimizer=optimizer, scheduler=scheduler, seed=99)
    resumed.load(kept)
    resumed.step(5)
    assert resumed.all() == straight.all()
    assert resumed.learning_rates == straight.learning_rates[3:]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_goes_on_bitwise_when_it_is_captured_at_every_step(optimizer: str) -> None:
    """Against a twin that never was: a capture neither steps nor draws."""
    captured, twin = Run(optimizer=optimizer), Run(optimizer=optimizer)
    rng = torch.get_rng_state()
    for step in range(1, 6):
        captured.step()
        captured.state.capture(step)
    torch.set_rng_state(rng)
    twin.step(5)
    assert captured.all() == twin.all()


def test_scaler_comes_back_when_it_has_a_state() -> None:
    """Its scale has grown from what a new one begins with."""

    def scaler() -> torch.amp.GradScaler:
        return torch.amp.GradScaler("cpu", init_scale=16.0, growth_interval=2)

    straight = Run(scaler=scaler())
    straight.step(5)
    kept = stored(straight.state.capture(5))
    resumed = Run(scaler=scaler(), seed=99)
    resumed.load(kept)
    assert resumed.scaler.state_dict() == straight.scaler.state_dict()
    assert resumed.scaler.get_scale() == 64.0
    straight.step(5)
    resumed.load(kept)
    resumed.step(5)
    assert resumed.all() == straight.all()


def test_capture_holds_every_component_when_all_are_declared() -> None:
    """Key for key, tensors apart from the rest, and the live ones: staging copies them."""
    run = Run(scaler=torch.amp.GradScaler("cpu"), data=ResumableSampler(10))
    run.step()
    snapshot = run.state.capture(1)
    assert set(snapshot.leaves) == {
        "model", "optimizer", "scheduler", "scaler", "data", "extras.average",
    }  # fmt: skip
    assert set(snapshot.rng) == {"python", "numpy", "torch", "cuda"}
    assert snapshot.step == 1
    weight = snapshot.tensors["model.first.weight"]
    assert weight.data_ptr() == run.model.first.weight.data_ptr()


def test_random_numbers_are_those_of_the_boundary_when_a_component_draws_some() -> None:
    """A state_dict may draw: RNG is captured before any is asked for."""

    class Drawing:
        def state_dict(self) -> dict[str, Any]:
            return {"drawn": torch.rand(1).item()}

        def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
            """Take nothing over."""

    run = Run()
    run.step()
    run.state.extras = {"drawing": Drawing()}
    before = torch.get_rng_state()
    snapshot = run.state.capture(1)
    assert not torch.equal(torch.get_rng_state(), before)
    restore_rng(snapshot.rng)
    assert torch.equal(torch.get_rng_state(), before)


def test_capture_is_refused_when_the_optimizer_has_not_stepped() -> None:
    """Asking it for its state would step it; skipped steps of a scaler don't count either."""
    run = Run(scaler=torch.amp.GradScaler("cpu"))
    with pytest.raises(StateError, match="not stepped yet"):
        run.state.capture(0)
    loss = run.model(torch.rand(8, 4)).mean() * float("inf")
    run.scaler.scale(loss).backward()
    run.scaler.step(run.optimizer)
    assert not run.state.has_stepped
    run.optimizer.step()
    assert run.state.has_stepped


def test_capture_is_possible_when_the_state_was_restored() -> None:
    """A resumed run may be asked to save before its first step."""
    first = Run()
    first.step()
    kept = stored(first.state.capture(1))
    second = Run()
    second.load(kept)
    assert second.state.has_stepped
    assert second.state.capture(1).leaves == kept.leaves


@pytest.mark.parametrize("missing", ["model", "optimizer", "scheduler", "scaler", "data"])
def test_component_is_asked_for_when_it_is_not_declared(missing: str) -> None:
    """Leaving one out by mistake would train another model after a resume."""
    model = nn.Linear(1, 1)
    components: dict[str, Any] = {
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "scheduler": None,
        "scaler": None,
        "data": None,
    }
    del components[missing]
    with pytest.raises(TypeError, match=missing):
        TrainState(**components)


@pytest.mark.parametrize(
    ("there", "here", "only"),
    [
        ({"scheduler": "lambda"}, {"scheduler": "none"}, r"only in the checkpoint \['scheduler'\]"),
        ({"scheduler": "none"}, {"scheduler": "lambda"}, r"only here \['scheduler'\]"),
        ({"data": ResumableSampler(9)}, {"data": None}, r"only in the checkpoint \['data'\]"),
        ({}, {"scaler": torch.amp.GradScaler("cpu")}, r"only here \['scaler'\]"),
    ],
)
def test_checkpoint_is_refused_when_its_components_are_others(
    there: dict[str, Any], here: dict[str, Any], only: str
) -> None:
    """By name, on either side, before anything is set."""
    first, second = Run(**there), Run(**here)
    first.step()
    before = second.model.state_dict()["tied.weight"].clone()
    snapshot = stored(first.state.capture(1))
    with pytest.raises(StateError, match=only):
        second.state.restore(snapshot.tensors, snapshot.leaves)
    assert torch.equal(second.model.state_dict()["tied.weight"], before)


def test_checkpoint_is_refused_when_its_model_is_another() -> None:
    """By what is missing, as an error of ours that the caller can catch."""
    first, second = Run(), Run()
    first.step()
    snapshot = stored(first.state.capture(1))
    second.model.added = nn.Linear(2, 2)
    with pytest.raises(StateError, match=r"added\.weight"):
        second.state.restore(snapshot.tensors, snapshot.leaves)


def test_capture_is_refused_when_a_component_holds_what_json_cannot() -> None:
    """By the path it would have had in the checkpoint."""
    run = Run()
    run.step()
    run.average.average = {"x": {1, 2}}  # type: ignore[dict-item]  # what a user may do
    with pytest.raises(StateError, match=r"^extras\.average\.average\.x is a builtins\.set"):
        run.state.capture(1)


def test_data_position_is_part_of_the_state_when_it_is_declared() -> None:
    """At the same step as the weights, whatever happens to it afterwards."""
    sampler = ResumableSampler(100, seed=4)
    first = Run(data=sampler)
    first.step()
    sampler.advance(12)
    kept = stored(first.state.capture(1))
    sampler.advance(50)
    resumed = ResumableSampler(100, seed=4)
    Run(data=resumed).load(kept)
    assert resumed.position == 12


def test_state_is_refused_when_it_holds_itself() -> None:
    """As an error of the program, not of Python."""
    run = Run()
    run.step()
    held: list[object] = []
    held.append(held)
    run.average.state_dict = lambda: {"held": held}  # type: ignore[method-assign]  # a component gone wrong
    with pytest.raises(StateError, match="holds itself"):
        run.state.capture(1)
