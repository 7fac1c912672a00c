"""Splitting state into tensors and JSON, and joining it again to the same thing."""

import json
import math
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.errors import StateError
from trainer_hooks.leaves import join, split, tensor_paths

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.floats().map(np.float64)
    | st.text()
    | st.lists(st.floats(width=32), max_size=3).map(torch.tensor)
)
KEYS = st.text(max_size=3) | st.integers(-3, 3) | st.sampled_from(["$tensor", "$tuple", "$items"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=20,
)


def there_and_back(value: object) -> object:
    """Split, write and read the JSON, and join."""
    tensors: dict[str, torch.Tensor] = {}
    written = json.dumps(split("root", value, tensors), allow_nan=False)
    assert sorted(tensor_paths(json.loads(written))) == sorted(tensors)
    return join(json.loads(written), tensors)


def assert_same(one: object, other: object) -> None:
    """Compare values, types and bits, which == does not for nan, tensors and -0.0."""
    if isinstance(one, torch.Tensor):
        assert one is other
    elif isinstance(one, float):
        assert isinstance(other, float)
        assert math.copysign(1, one) == math.copysign(1, other) or math.isnan(one)
        assert one == other or (math.isnan(one) and math.isnan(other))
    elif isinstance(one, dict):
        assert isinstance(other, dict)
        assert [(type(key), key) for key in one] == [(type(key), key) for key in other]
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert type(one) is type(other)
        assert len(one) == len(other)
        for item, its_other in zip(one, other, strict=True):
            assert_same(item, its_other)
    else:
        assert (type(one), one) == (type(other), other)


@given(value=VALUES)
def test_value_comes_back_when_it_is_nested_anyhow(value: object) -> None:
    """Bit by bit, or it is refused for two tensors of one path: nothing is lost in silence."""
    refusal = None
    try:
        assert_same(value, there_and_back(value))
    except StateError as error:
        refusal = str(error)
    assert refusal is None or "the path of two tensors" in refusal


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        -0.0,
        5e-324,
        2**200,
        (),
        [],
        {},
        ((),),
        {1: {2: (3,)}},
        {1: "int", "1": "text"},
        {True: 1},
        {"$tensor": "root"},
        {"$float": "nan", "$items": [], "$tuple": [1]},
        {"": {"": None}},
        "\ud800",
    ],
    ids=repr,
)
def test_value_comes_back_when_it_looks_like_our_own_marks_or_is_odd(value: object) -> None:
    """A user's keys are the user's."""
    assert_same(value, there_and_back(value))


def test_value_is_plain_when_it_was_a_numpy_scalar_or_an_ordered_mapping() -> None:
    """LambdaLR leaves numpy floats, a model an OrderedDict: what comes back compares equal."""
    assert_same(there_and_back({"lr": np.float64(0.1)}), {"lr": 0.1})
    assert_same(there_and_back(OrderedDict(b=1, a=2)), {"b": 1, "a": 2})


def test_tensors_are_named_by_their_paths_when_they_are_taken_out() -> None:
    """They are the live ones, not copies."""
    weight, moment = torch.zeros(2), torch.ones(2)
    tensors: dict[str, torch.Tensor] = {}
    leaves = split("optimizer", {"state": {"w": {"exp_avg": moment}}, "list": [weight]}, tensors)
    assert tensors == {"optimizer.state.w.exp_avg": moment, "optimizer.list.0": weight}
    assert list(tensor_paths(leaves)) == list(tensors)


@pytest.mark.parametrize(
    ("value", "path", "kind"),
    [
        (b"bytes", "root", "builtins.bytes"),
        ({"a": {1, 2}}, "root.a", "builtins.set"),
        ({"a": [1, (2, 1j)]}, "root.a.1.1", "builtins.complex"),
        ({"a": {3: np.zeros(2)}}, "root.a.3", "numpy.ndarray"),
        ([Path("/")], "root.0", "pathlib"),
        ([datetime.now(UTC)], "root.0", "datetime.datetime"),
        ({"f": print}, "root.f", "builtins.builtin_function_or_method"),
        ([torch.float32], "root.0", "torch.dtype"),
        ([torch.Generator()], "root.0", "torch._C.Generator"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_leaf_is_refused_when_json_cannot_hold_it(value: object, path: str, kind: str) -> None:
    """By its path and type, while the job that made it still lives."""
    with pytest.raises(StateError, match=rf"^{path} is a {kind}"):
        split("root", value, {})


@pytest.mark.parametrize("key", [1.5, None, (1, 2), b"k"])
def test_mapping_is_refused_when_its_keys_are_neither_text_nor_integers(key: Any) -> None:  # noqa: ANN401 - any key
    """They would come back as other keys."""
    with pytest.raises(StateError, match=r"^root\.a has keys"):
        split("root", {"a": {key: 1}}, {})


@pytest.mark.parametrize(
    "value",
    [
        {"a.b": torch.zeros(1), "a": {"b": torch.ones(1)}},
        {1: torch.zeros(1), "1": torch.ones(1)},
        {"a": [torch.zeros(1)], "a.0": torch.ones(1)},
    ],
)
def test_tensors_are_refused_when_two_have_one_path(value: object) -> None:
    """One of them would silently come back as the other."""
    with pytest.raises(StateError, match="the path of two tensors"):
        split("root", value, {})


def test_join_is_refused_when_a_tensor_is_missing() -> None:
    """The JSON of one checkpoint with the tensors of another."""
    leaves = split("root", {"a": torch.zeros(1)}, {})
    with pytest.raises(StateError, match=r"root\.a"):
        join(leaves, {})


@pytest.mark.parametrize(
    ("scalar", "number"),
    [
        (np.float32(1.5), 1.5),
        (np.int64(-3), -3),
        (np.bool_(1), True),
        (np.float16("inf"), math.inf),
    ],
    ids=repr,
)
def test_number_is_pythons_when_it_was_numpys(scalar: object, number: float) -> None:
    """Of any width: a schedule or a counter of samples has some."""
    found = join(split("a", scalar, {}), {})
    assert (type(found), found) == (type(number), number)


@pytest.mark.parametrize(
    "value", [np.datetime64(1, "ns"), np.longdouble(1), np.zeros(1), np.zeros((), "S1")], ids=repr
)
def test_leaf_is_refused_when_it_is_numpys_and_no_number_of_pythons(value: object) -> None:
    """A date in nanoseconds would become an integer."""
    with pytest.raises(StateError, match=r"a is a numpy\."):
        split("a", value, {})


def test_number_is_refused_when_no_resume_could_read_it() -> None:
    """Now, and not when the checkpoint is wanted."""
    assert split("a", 2**8191, {}) == 2**8191
    with pytest.raises(StateError, match="a is too long a number: 20001 bits"):
        split("a", 2**20000, {})
