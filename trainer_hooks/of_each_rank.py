"""OfEachRank: a component whose state is another one on each rank, such as a StatefulDataLoader."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import torch

from trainer_hooks.errors import StateError

_PACKED = "$packed"


@runtime_checkable
class Stateful(Protocol):
    """Anything with ``state_dict`` and ``load_state_dict``; nothing need be inherited."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""

    def load_state_dict(self, state_dict: dict[str, Any], /) -> object:
        """Set the state."""


class OfEachRank:
    """Keeps a component's state for each rank, and gives each rank its own back.

    What a checkpoint holds of any other component is one rank's, taken for all. Wrap what is not
    alike, torchdata's StatefulDataLoader first of all::

        loader = StatefulDataLoader(data, batch_size=8, num_workers=2, generator=torch.Generator())
        state = TrainState(..., data=OfEachRank(loader))

    Such a state belongs to a number of ranks. With another one it is refused, by name: a
    ResumableSampler's position has no such bounds.

    Args:
        component: Its tensors go with the rest of its state, so they should be small.
    """

    def __init__(self, component: Stateful) -> None:
        self.component = component

    def state_dict(self) -> dict[str, Any]:
        """Return this rank's state, without a tensor: DCP would keep one rank's copy of it."""
        packed: dict[str, Any] = _packed(self.component.state_dict())
        return packed

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Set this rank's state.

        Raises:
            StateError: A tensor in it is damaged.
        """
        self.component.load_state_dict(_unpacked(state_dict))


def _packed(value: Any) -> Any:  # noqa: ANN401 - whatever a state_dict holds; split refuses what JSON can't
    match value:
        case torch.Tensor():
            plain = value.detach().cpu().contiguous()
            data = plain.flatten().view(torch.uint8).numpy().tobytes().hex()
            return {_PACKED: [str(plain.dtype).removeprefix("torch."), list(plain.shape), data]}
        case Mapping():
            return {key: _packed(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_packed(item) for item in value)
    return value


def _unpacked(value: Any) -> Any:  # noqa: ANN401 - likewise
    match value:
        case {"$packed": [str(dtype), list(shape), str(data)]}:
            return _tensor(dtype, shape, data)
        case dict():
            return {key: _unpacked(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_unpacked(item) for item in value)
    return value


def _tensor(dtype: str, shape: list[int], data: str) -> torch.Tensor:
    known = getattr(torch, dtype, None)
    if not isinstance(known, torch.dtype):
        raise StateError(f"a tensor of this rank's state has the type {dtype}, which there is not")
    try:
        plain = torch.tensor(list(bytes.fromhex(data)), dtype=torch.uint8)
        return plain.view(known).reshape(shape)
    except (ValueError, TypeError, RuntimeError) as error:
        raise StateError(f"a tensor of this rank's state is damaged: {error}") from error
