"""Staging: the copy that a save is written from while training goes on."""

from collections.abc import Iterable
from concurrent.futures import Future
from typing import cast

import torch
from torch.distributed import ProcessGroup
from torch.distributed.checkpoint import FileSystemWriter, async_save
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import AsyncSaveResponse
from torch.distributed.tensor import DTensor

from trainer_hooks.checkpoint.planner import LowestRankBuffers
from trainer_hooks.state import Snapshot


def open_stager() -> DefaultStager:
    """Return what copies the tensors; its buffers are used again, one save after the other.

    Pinned memory and copies in the background need a GPU. Whoever opens it closes it.
    """
    has_gpu = torch.cuda.is_available()
    return DefaultStager(
        StagingOptions(
            use_pinned_memory=has_gpu,
            use_shared_memory=False,
            use_async_staging=has_gpu,
            use_non_blocking_copy=has_gpu,
        )
    )


def stage(
    snapshot: Snapshot,
    writer: FileSystemWriter,
    stager: DefaultStager,
    group: ProcessGroup | None,
) -> Future[object]:
    """Copy the tensors and begin to write them; return once they may be changed again.

    Returns:
        What ends when DCP has written them.
    """
    response = async_save(
        snapshot.tensors,
        storage_writer=writer,
        process_group=group,
        planner=LowestRankBuffers(),
        async_stager=stager,
        no_dist=group is None,
    )
    if isinstance(response, AsyncSaveResponse):
        response.staging_completion.result()  # the next optimizer step may not come before
        return cast("Future[object]", response.upload_completion)
    return cast("Future[object]", response)


def staged_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Return how much host memory their copies take, pinned or not.

    Whole storages are copied, each once however many tensors are views of it (torch 2.13,
    ``StateDictStager``); of a DTensor this rank copies what it holds.
    """
    storages = {}
    for tensor in tensors:
        with torch.no_grad():
            local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
        storage = local.untyped_storage()
        storages[local.device, storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())
