"""One rank of a training run on a device: ``python -m tests.support.device_run KIND DIR UNTIL``.

With ``cuda`` the training's group is NCCL's beside our own of gloo, and staging copies into pinned
memory from a thread; with ``cpu`` all the same is gloo's, and nothing is pinned. So what only a GPU
can show is what differs between the two, and the rest runs everywhere.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.staging import DefaultStager
from torch.nn.parallel import DistributedDataParallel

from trainer_hooks import ResumableSampler, TrainerHooks, TrainState

WIDTH = 256
DIES_IN = 5
"""The step that a run told to crash dies in; the save of step 4 is committed by then."""


class Staged:
    """Where the stager has put its copies, one save after the other."""

    def __init__(self) -> None:
        self._places: list[dict[str, int]] = []
        self._pinned: set[bool] = set()
        inner = DefaultStager._stage  # the one place where a copy can be seen

        def seen(stager: DefaultStager, state: Any, **options: Any) -> Any:  # noqa: ANN401 - torch's own
            copies = inner(stager, state, **options)
            tensors = {
                path: one
                for path, one in copies.items()
                if isinstance(one, torch.Tensor) and one.numel() >= WIDTH
            }
            self._places.append({path: one.data_ptr() for path, one in tensors.items()})
            self._pinned |= {one.is_pinned() for one in tensors.values()}
            return copies

        DefaultStager._stage = seen  # type: ignore[assignment, method-assign]  # as above

    def told(self) -> str:
        """Return it in words, for the log."""
        is_kept = len(self._places) > 1 and all(one == self._places[0] for one in self._places)
        return f"STAGED pinned={self._pinned == {True}} kept={is_kept} saves={len(self._places)}"


def main() -> None:
    """Train on this rank, whose place the environment tells."""
    kind, directory, until, may_die = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.use_deterministic_algorithms(mode=True)
    rank = int(os.environ["RANK"])
    device = torch.device(kind, rank) if kind == "cuda" else torch.device(kind)
    if kind == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    staged = Staged()
    torch.manual_seed(11)
    model = nn.Sequential(nn.Linear(8, WIDTH), nn.Dropout(0.5), nn.Linear(WIDTH, 1)).to(device)
    wrapped = DistributedDataParallel(model)
    torch.manual_seed(100 + rank)
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=0.01)
    state = TrainState(
        model=wrapped, optimizer=optimizer, scheduler=None, scaler=None, data=ResumableSampler(64)
    )
    with TrainerHooks(state, checkpoint_dir=directory, save_every=2) as hooks:
        for step in hooks.steps(until=until):
            inputs = torch.randn(4, 8, device=device)  # the device's generator, as dropout's
            loss = wrapped(inputs).square().mean()
            loss.backward()
            if may_die and step == DIES_IN:
                os._exit(9)
            optimizer.step()
            optimizer.zero_grad()
            hooks.consumed(4)
            print(f"step {step} loss {loss.item().hex()}", flush=True)  # noqa: T201 - read
            if step == 4:  # so that what may be lost is known
                hooks._run.saves.wait(lambda: None)  # type: ignore[union-attr]  # it has begun
    print(staged.told(), flush=True)  # noqa: T201 - likewise
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
