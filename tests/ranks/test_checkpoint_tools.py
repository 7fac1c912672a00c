"""What two ranks have written is looked at, exported and kept by tools of one process."""

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.support.ranks import start_ranks
from tests.support.saving import on_disk
from tests.support.tiny import Tiny
from trainer_hooks import cli, latest_committed

pytestmark = pytest.mark.ranks


def test_checkpoint_of_two_ranks_is_loaded_and_exported_when_one_process_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the shards of both; and one flipped bit in either is found."""
    root = tmp_path / "checkpoints"
    (tmp_path / "log").mkdir()
    tiny = Tiny(checkpoint_dir=root, log_dir=tmp_path / "log", steps=20)
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    command = ["checkpoints", "verify", "--deep", "--json", str(root)]
    assert cli.run(command) == 0
    assert [found["damage"] for found in json.loads(capsys.readouterr().out)] == [[], []]
    target = tmp_path / "weights.safetensors"
    assert cli.run(["checkpoints", "export", str(root), "--to", str(target)]) == 0
    weights = load_file(target)
    assert {name: tuple(tensor.shape) for name, tensor in weights.items()} == {
        "0.weight": (8, 4), "0.bias": (8,), "1.weight": (8, 8), "1.bias": (8,),
        "3.weight": (1, 8), "3.bias": (1,),
    }  # fmt: skip
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())
    newest = latest_committed(root)
    assert newest is not None
    shards = [entry.name for entry in newest.marker.files if entry.name.endswith(".distcp")]
    assert len(shards) == 2
    for shard in shards:
        path = on_disk(newest.path) / shard
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    capsys.readouterr()
    assert cli.run(command) == 1
    damage = [found["damage"] for found in json.loads(capsys.readouterr().out)]
    assert damage == [[f"{shard} is damaged, its digest differs" for shard in shards], []]
    assert cli.run(["checkpoints", "export", str(root), "--to", f"{target}2"]) == 1
    assert not os.path.lexists(f"{target}2")
