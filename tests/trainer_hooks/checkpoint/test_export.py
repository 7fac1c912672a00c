"""Weights taken out of a checkpoint: what safetensors reads is what was trained, and no resume."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

from tests.support.saving import on_disk
from tests.support.trained import saved
from tests.support.training import Run, plain
from trainer_hooks.checkpoint import tensors
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.export import export_weights
from trainer_hooks.errors import CheckpointError, ConfigError, DirectoryError

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


class Odd(nn.Module):
    """Parameters and buffers of every width that a model has."""

    def __init__(self) -> None:
        super().__init__()
        self.single = nn.Parameter(torch.tensor(1.5, dtype=torch.float64))
        self.narrow = nn.Parameter(torch.rand(3).bfloat16())
        self.register_buffer("flag", torch.tensor([True, False, True]))
        self.register_buffer("count", torch.tensor(7))
        self.register_buffer("empty", torch.zeros(0, 4))
        self.register_buffer("byte", torch.arange(5, dtype=torch.uint8))
        self.register_buffer("eighth", torch.rand(3).to(torch.float8_e4m3fn))
        self.register_buffer("wave", torch.rand(2, dtype=torch.complex64))
        self.register_buffer("turned", torch.arange(6.0).reshape(2, 3).t())


@pytest.mark.parametrize("at_once_bytes", [1, 2**30])
def test_weights_are_those_of_the_model_when_they_are_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once_bytes: int
) -> None:
    """Bit by bit, by the names of its state dict, and nothing of the optimizer."""
    monkeypatch.setattr(tensors, "_AT_ONCE_BYTES", at_once_bytes)
    run = Run()
    run.model.add_module("odd", Odd())
    checkpoint = saved(tmp_path / "run", run)
    done = list[int]()
    count = export_weights(checkpoint, tmp_path / "out.safetensors", done.append)
    read = load_file(tmp_path / "out.safetensors")
    expected = run.model.state_dict()
    assert set(read) == set(expected)
    assert count == len(read)
    for name, tensor in expected.items():
        assert plain(read[name]) == plain(tensor), name
    assert sum(done) == sum(tensor.nbytes for tensor in expected.values())
    with safe_open(tmp_path / "out.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt", "reprieve_export_of": checkpoint.path.name}
    assert [path.name for path in tmp_path.iterdir()] in (
        ["run", "out.safetensors"], ["out.safetensors", "run"],
    )  # fmt: skip


def test_export_is_refused_when_the_file_exists(tmp_path: Path) -> None:
    """Nothing of anybody is overwritten; where it can't be written, that is said."""
    checkpoint = saved(tmp_path / "run", Run())
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        export_weights(checkpoint, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"
    with pytest.raises(ConfigError, match="cannot be written: No such file or directory"):
        export_weights(checkpoint, tmp_path / "none" / "out")


def test_nothing_is_left_when_a_tensor_cannot_be_read(tmp_path: Path) -> None:
    """Whole or not at all."""
    checkpoint = saved(tmp_path / "run", Run())
    (on_disk(checkpoint.path) / "__0_0.distcp").write_bytes(b"x" * 50)
    with pytest.raises(CheckpointError):
        export_weights(checkpoint, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_no_run_starts_when_its_directory_is_an_export(tmp_path: Path) -> None:
    """Named as what it is: it has no optimizer, and what went on from it would be another run."""
    checkpoint = saved(tmp_path / "run", Run())
    (tmp_path / "out").mkdir()
    export = tmp_path / "out" / "weights.safetensors"
    export_weights(checkpoint, export)
    for root in (export, tmp_path / "out"):
        with pytest.raises(DirectoryError, match="is a weights-only export of") as raised:
            start_attempt(root)
        assert checkpoint.path.name in str(raised.value)
    export.rename(tmp_path / "run" / export.name)
    assert start_attempt(tmp_path / "run").number == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x08",
        b"\xff" * 99,
        (5).to_bytes(8, "little") + b"[1,2]",
        (2).to_bytes(8, "little") + b"{}",
        (300_000).to_bytes(8, "little") + b"[" * 300_000,
        (27).to_bytes(8, "little") + json.dumps({"__metadata__": {"a": "b"}}).encode(),
    ],
)
def test_run_starts_when_a_file_is_somebody_elses(tmp_path: Path, content: bytes) -> None:
    """Weights that a run begins from may well lie there."""
    (tmp_path / "base.safetensors").write_bytes(content)
    assert start_attempt(tmp_path).number == 1
