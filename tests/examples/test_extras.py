"""The extras to copy: a run goes on bitwise with them."""

from typing import Any

import pytest
import torch
from extras import Ema, MasterWeights, Working
from torch import nn

from tests.support.training import load, plain, stored
from trainer_hooks.state import TrainState


class MixedRun:
    """A model of bfloat16 with a batch norm, its fp32 masters, and their average."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)).bfloat16()
        self.masters = MasterWeights(self.model)
        self.working = Working(self.model, self.masters)
        self.ema = Ema(self.masters, decay=0.9)
        self.optimizer = torch.optim.AdamW(self.masters.parameters(), lr=0.001)
        self.state = TrainState(
            model=self.masters,
            optimizer=self.optimizer,
            scheduler=None,
            scaler=None,
            data=None,
            extras={"working": self.working, "ema": self.ema},
        )

    def step(self, steps: int) -> None:
        """Train some steps, on random data."""
        for _ in range(steps):
            self.model(torch.rand(8, 4).bfloat16()).square().mean().backward()
            self.working.pass_gradients()
            self.optimizer.step()
            self.working.round()
            self.ema.update()

    def all(self) -> list[Any]:
        """Return all that training depends on, bit for bit comparable."""
        return [
            plain(part)
            for part in (
                dict(self.model.state_dict()),
                dict(self.masters.state_dict()),
                self.optimizer.state_dict(),
                self.ema.average,
                torch.get_rng_state(),
            )
        ]


def test_run_with_masters_and_an_average_goes_on_bitwise_when_it_is_restored() -> None:
    """Into a run that began with other numbers."""
    straight = MixedRun(seed=0)
    straight.step(3)
    kept = stored(straight.state.capture(3))
    straight.step(4)
    resumed = MixedRun(seed=99)
    load(resumed.state, kept)
    resumed.step(4)
    assert resumed.all() == straight.all()


def test_masters_keep_what_bfloat16_cannot_when_updates_are_small() -> None:
    """That is what they are for: the model's own weights would stand still."""
    run = MixedRun(seed=0)
    before = run.masters.weights["0/weight"].clone()
    run.optimizer.param_groups[0]["lr"] = 1e-6
    run.step(1)
    assert not torch.equal(run.masters.weights["0/weight"], before)
    weight = run.model.state_dict()["0.weight"]
    assert weight.dtype == torch.bfloat16
    assert torch.equal(weight, run.masters.weights["0/weight"].bfloat16())


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_average_follows_the_model_when_it_is_updated(decay: float) -> None:
    """By its decay."""
    model = nn.Linear(1, 1, bias=False)
    ema = Ema(model, decay=decay)
    before = model.weight.detach().clone()
    nn.init.constant_(model.weight, 3.0)
    ema.update()
    torch.testing.assert_close(ema.average["weight"], before * decay + 3.0 * (1 - decay))
