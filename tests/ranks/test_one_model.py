"""What ranks hold under one name: one thing, or a state that is refused on all of them."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

from tests.support.ranks import start_ranks
from trainer_hooks.errors import StateError
from trainer_hooks.one_model import OneModel
from trainer_hooks.state import Snapshot, TrainState
from trainer_hooks.world import World

pytestmark = pytest.mark.ranks


class Net(nn.Module):
    """A layer, a norm with buffers, and another layer, which is frozen."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.layer = nn.Linear(4, width)
        self.norm = nn.BatchNorm1d(width)
        self.head = nn.Linear(width, 2).requires_grad_(requires_grad=False)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return two numbers a sample."""
        out: torch.Tensor = self.head(self.norm(self.layer(inputs)))
        return out


def captured(model: nn.Module) -> Snapshot:
    """Train one step, on other data on each rank, and capture the state."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1)
    state = TrainState(model=model, optimizer=optimizer, scheduler=None, scaler=None, data=None)
    inputs = torch.rand(6, 4, generator=torch.Generator().manual_seed(dist.get_rank()))
    model(inputs).square().sum().backward()
    optimizer.step()
    return state.capture(1)


def seeded(width: int = 4) -> Net:
    """Return a net that is alike on all ranks."""
    torch.manual_seed(3)
    return Net(width)


def ddp() -> nn.Module:
    """Replicas, whose batch norm has seen other data on each rank."""
    return DistributedDataParallel(seeded())


def fsdp2() -> nn.Module:
    """Shards of rows that do not divide."""
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
    fully_shard(model)
    return model


def tensor_parallel() -> nn.Module:
    """Shards of one layer, and replicas of another, which see the same data."""
    torch.manual_seed(4)
    mesh = init_device_mesh("cpu", (2,))
    model = nn.ModuleDict({"whole": nn.Linear(4, 4), "cut": nn.Linear(4, 4)})
    parallelize_module(model, mesh, {"cut": ColwiseParallel()})
    return model


def ddp_apart() -> nn.Module:
    """Replicas that DDP keeps alike, and one device that has computed wrongly."""
    model = DistributedDataParallel(seeded())
    with torch.no_grad():
        model.module.head.bias[1] += dist.get_rank()
    return model


def ddp_stages() -> nn.Module:
    """Stages of one name, each with DDP over ranks of its own."""
    torch.manual_seed(dist.get_rank())
    groups = [dist.new_group([rank]) for rank in range(2)]
    model = Net()
    return DistributedDataParallel(model, process_group=groups[dist.get_rank()])


def other_shapes() -> nn.Module:
    """Stages of one name and other sizes."""
    return nn.ModuleDict({"layer": nn.Linear(4, 2 + dist.get_rank())})


def other_kinds() -> nn.Module:
    """Stages of one name, one of them sharded."""
    model = nn.ModuleDict({"layer": seeded().layer})
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("stage", "shard"))["shard"]
    if dist.get_rank() == 1:
        fully_shard(model["layer"], mesh=mesh)
    return model


def sharded_apart() -> nn.Module:
    """Stages of one name, each sharded over ranks of its own."""
    torch.manual_seed(dist.get_rank())
    model = nn.ModuleDict({"layer": nn.Linear(4, 2)})
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("stage", "shard"))["shard"]
    fully_shard(model["layer"], mesh=mesh)
    return model


def peers_apart() -> nn.Module:
    """Peers of tensor parallelism, where one has drifted in what both hold."""
    model = tensor_parallel()
    with torch.no_grad():
        whole = model.get_submodule("whole")
        whole.get_parameter("bias")[2] += dist.get_rank() * 1e-7
    return model


def look(make: Callable[[], nn.Module], _rank: int) -> None:
    """Look at a model as it is, or after a step if it is one to be trained; say what is found."""
    logging.basicConfig(force=True)  # pytest's own handlers were forked along
    model = make()
    snapshot = Snapshot(
        step=1,
        tensors={f"model.{name}": tensor for name, tensor in model.state_dict().items()},
        leaves={},
        rng={},
    )
    if isinstance(model, DistributedDataParallel | nn.Sequential):
        snapshot = captured(model)
    one_model = OneModel(model, World.connect())
    try:
        assert one_model.checked(snapshot) is snapshot
    except StateError as error:
        print("REFUSED", error)  # noqa: T201 - read back by the test
    else:
        with torch.no_grad():
            next(model.parameters()).add_(dist.get_rank())
        assert one_model.checked(snapshot) is snapshot  # what goes astray later is no set-up


def found(make: Callable[[], nn.Module], directory: Path) -> str:
    """Return what both ranks have found: one thing."""
    job = start_ranks(2, lambda rank: look(make, rank), directory)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    lines = [job.log(rank).splitlines() for rank in range(2)]
    (said,) = {next((line for line in log if line.startswith("REFUSED")), "") for log in lines}
    return said


@pytest.mark.parametrize("make", [ddp, fsdp2, tensor_parallel])
def test_model_is_one_when_ranks_hold_it_alike(
    tmp_path: Path, make: Callable[[], nn.Module]
) -> None:
    """Whole, in shards, and some of each; buffers may differ."""
    assert found(make, tmp_path) == ""


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (ddp_stages, "layer.weight"),
        (other_shapes, "layer.bias"),
        (other_kinds, "layer.bias"),
        (sharded_apart, "layer.bias"),
        (peers_apart, "whole.bias"),
    ],
)
def test_state_is_refused_when_one_name_is_two_things(
    tmp_path: Path, make: Callable[[], nn.Module], name: str
) -> None:
    """On all ranks, by its name and theirs."""
    said = found(make, tmp_path)
    assert f"{name} on ranks 0, 1" in said
    assert ("weight on" in said) == (make is not peers_apart)


def test_replicas_that_a_device_has_parted_are_said_and_no_set_up(tmp_path: Path) -> None:
    """A resume must not end in a code that forbids another: the guards look after devices."""
    job = start_ranks(2, lambda rank: look(ddp_apart, rank), tmp_path)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "REFUSED" not in job.log(0) + job.log(1)
    assert "torch keeps alike differ: head.bias on ranks 0, 1. Checkpoints hold" in job.log(0)
    assert "differ" not in job.log(1)
