"""A component of each rank: its own state comes back, tensors and all, or is refused by name."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.support.training import Run, load, stored
from trainer_hooks.errors import StateError
from trainer_hooks.of_each_rank import OfEachRank
from trainer_hooks.untrusted import Json


class Anything:
    """Holds whatever it was given last."""

    def __init__(self, held: dict[str, Any]) -> None:
        self.held = held

    def state_dict(self) -> dict[str, Any]:
        """Return it."""
        return self.held

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Set it."""
        self.held = state_dict


TENSORS = {
    "generator": torch.Generator().manual_seed(3).get_state(),
    "half": torch.tensor([1.5, float("nan"), float("-inf")], dtype=torch.bfloat16),
    "scalar": torch.tensor(7),
    "flags": torch.tensor([[True], [False]]),
    "empty": torch.empty(0, 3),
    "turned": torch.arange(6.0).reshape(2, 3).t(),
}


def test_state_comes_back_bit_for_bit_when_it_holds_tensors() -> None:
    """Through JSON, nested anywhere."""
    held = {"tensors": TENSORS, "in": [{"a": (1, TENSORS["half"])}, None, "text"]}
    saved = json.loads(json.dumps(OfEachRank(Anything({"tensors": TENSORS})).state_dict()))
    other = Anything({})
    OfEachRank(other).load_state_dict(saved)
    for name, tensor in TENSORS.items():
        back = other.held["tensors"][name]
        assert (back.dtype, back.shape) == (tensor.dtype, tensor.shape)
        torch.testing.assert_close(back, tensor, rtol=0, atol=0, equal_nan=True)
    OfEachRank(other).load_state_dict(OfEachRank(Anything(held)).state_dict())
    assert [type(item) for item in other.held["in"]] == [dict, type(None), str]
    assert other.held["in"][0]["a"][0] == 1


@pytest.mark.parametrize(
    "packed",
    [["float33", [1], "00"], ["nn", [1], "00"], ["int32", [1], "0000"], ["int8", [1], "xx"],
     ["int8", [2], "00"], ["int8", ["a"], "00"]],
)  # fmt: skip
def test_tensor_is_refused_when_it_is_damaged(packed: list[Any]) -> None:
    """As an error of ours, whatever the bytes say."""
    with pytest.raises(StateError, match="a tensor of this rank's state"):
        OfEachRank(Anything({})).load_state_dict({"x": {"$packed": packed}})


def run(held: dict[str, Any]) -> tuple[Run, Anything]:
    """Return a run that carries such a component."""
    component = Anything(held)
    return Run(data=OfEachRank(component)), component


def test_ranks_own_state_is_restored_when_others_have_another_one() -> None:
    """What is alike comes from rank 0's file, and this from the rank's own."""
    first, _ = run({"at": 3, "seed": torch.tensor([5])})
    first.step()
    own = stored(first.state.capture(1))
    assert not any(path.startswith("data") for path in own.tensors)
    shared = replace(own, leaves=own.leaves | {"data": {"at": 99}})
    second, component = run({})
    load(second.state, shared, own.leaves)
    assert component.held == {"at": 3, "seed": torch.tensor([5])}


@pytest.mark.parametrize("own", [None, {}])
def test_state_of_each_rank_is_refused_when_other_ranks_wrote_it(
    own: dict[str, Json] | None,
) -> None:
    """There is no telling which of theirs would be whose; nothing is set."""
    first, _ = run({"at": 3})
    first.step()
    second, component = run({"at": 1})
    before = second.model.first.weight.clone()
    with pytest.raises(StateError, match=r"^data is another one on each rank.*ResumableSampler"):
        second.state.restore({}, stored(first.state.capture(1)).leaves, own)
    assert component.held == {"at": 1}
    assert torch.equal(second.model.first.weight, before)
