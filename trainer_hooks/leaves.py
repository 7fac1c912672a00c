"""Splitting a state dict into tensors, which DCP writes, and the rest, which is JSON.

DCP would pickle every non-tensor leaf; a pickle in a checkpoint is a program that runs at
resume. What JSON can't hold is refused here, by name, while the job that made it still lives.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from trainer_hooks.errors import StateError
from trainer_hooks.untrusted import Json

_TENSOR, _TUPLE, _FLOAT, _ITEMS = "$tensor", "$tuple", "$float", "$items"
_MARKS = {_TENSOR, _TUPLE, _FLOAT, _ITEMS}

_MAX_BITS = 8192
"""Python reads no number of more than some 4300 digits."""


def split(path: str, value: object, tensors: dict[str, torch.Tensor]) -> Json:  # noqa: PLR0911 - one return a kind of leaf
    """Return ``value`` as JSON, its tensors taken out into ``tensors`` under their paths.

    Raises:
        StateError: A leaf is neither a tensor nor anything JSON can hold, or two tensors have one
            path (of the keys 1 and "1", or "a.b" and "a" with "b" in it); names the path.
    """
    match value:
        case torch.Tensor():
            if path in tensors:
                raise StateError(f"{path} is the path of two tensors: rename a key")
            tensors[path] = value
            return {_TENSOR: path}
        case None | bool() | str():
            return value
        case int():
            return _integer(path, value)
        case float():  # a numpy.float64 is one too: LambdaLR leaves some (trainer-facts 8.12)
            return float(value) if math.isfinite(value) else {_FLOAT: repr(float(value))}
        case list():
            return [split(f"{path}.{i}", item, tensors) for i, item in enumerate(value)]
        case tuple():
            return {_TUPLE: [split(f"{path}.{i}", item, tensors) for i, item in enumerate(value)]}
        case Mapping():
            return _split_mapping(path, value, tensors)
    return _number(path, value)


def _integer(path: str, value: int) -> int:
    if value.bit_length() > _MAX_BITS:
        raise StateError(f"{path} is too long a number: {value.bit_length()} bits")
    return int(value)


def _number(path: str, value: Any) -> Json:  # noqa: ANN401 - numpy is not imported for it
    """Return the number that a scalar of numpy's is; refuse all else, a date or an array too."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        plain = value.item() if value.dtype.kind in "biuf" else None
        if isinstance(plain, bool | int | float):
            return split(path, plain, {})
    raise StateError(
        f"{path} is a {type(value).__module__}.{type(value).__qualname__}: a checkpoint holds "
        "tensors and what JSON can hold; convert it in state_dict() or leave it out"
    )


def join(value: Json, tensors: Mapping[str, torch.Tensor]) -> object:  # noqa: PLR0911 - likewise
    """Undo ``split``.

    Raises:
        StateError: A tensor that the JSON names is not among ``tensors``.
    """
    if isinstance(value, list):
        return [join(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$tensor": str(path)}:
            if path not in tensors:
                raise StateError(f"the checkpoint names a tensor {path} that it does not hold")
            return tensors[path]
        case {"$float": str(text)}:
            return float(text)
        case {"$tuple": list(items)}:
            return tuple(join(item, tensors) for item in items)
        case {"$items": list(pairs)}:
            return {key: join(item, tensors) for key, item in pairs}  # type: ignore[misc, str-unpack]  # written by split as pairs
    return {key: join(item, tensors) for key, item in value.items()}


def tensor_paths(value: Json) -> Iterator[str]:
    """Yield the paths of all tensors that ``split`` has taken out."""
    match value:
        case {"$tensor": str(path)}:
            yield path
        case dict():
            for item in value.values():
                yield from tensor_paths(item)
        case list():
            for item in value:
                yield from tensor_paths(item)


def _split_mapping(
    path: str, value: Mapping[object, object], tensors: dict[str, torch.Tensor]
) -> Json:
    if all(isinstance(key, str) for key in value) and not _MARKS.intersection(value):
        return {str(key): split(f"{path}.{key}", item, tensors) for key, item in value.items()}
    if not all(isinstance(key, str | int) for key in value):
        raise StateError(f"{path} has keys that are neither strings nor integers")
    pairs: list[Json] = []
    for key, item in value.items():
        pairs.append([key, split(f"{path}.{key}", item, tensors)])  # type: ignore[list-item]  # checked above
    return {_ITEMS: pairs}
