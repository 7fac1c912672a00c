"""Staging: the copy that a save is written from while training goes on."""

import torch
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions


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
