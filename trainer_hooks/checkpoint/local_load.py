"""Loading what one rank has saved on its own node, stage by stage, each of which may refuse it."""

from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import CheckpointException
from torch.distributed.tensor import DTensor

from trainer_hooks.checkpoint.cause import root_cause
from trainer_hooks.checkpoint.index_check import refuse_outside
from trainer_hooks.checkpoint.latest import damaged_files, open_checkpoint
from trainer_hooks.checkpoint.metadata import SafeReader
from trainer_hooks.checkpoint.rank_state import read_rank_state
from trainer_hooks.checkpoint.resume import ResumePoint
from trainer_hooks.checkpoint.targets import targets
from trainer_hooks.errors import CheckpointError
from trainer_hooks.placing import pieces_of
from trainer_hooks.state import MODEL, TrainState, placing_of
from trainer_hooks.untrusted import Json


@dataclass(slots=True)
class LocalLoad:
    """One rank's part of loading a local save. All ranks go through the stages together."""

    path: Path
    ours: dict[str, torch.Tensor] = field(default_factory=dict)
    into: dict[str, torch.Tensor] = field(default_factory=dict)
    point: ResumePoint | None = None
    """Where to go on, once all of it is read."""

    def verify(self) -> None:
        """Compare every byte's digest.

        Raises:
            CheckpointError: One differs.
        """
        damaged = damaged_files(open_checkpoint(self.path))
        if damaged:
            raise CheckpointError(f"{damaged[0]} is damaged, its digest differs")

    def compare(self, state: TrainState) -> None:
        """See that this rank holds the pieces now that it held then.

        Raises:
            CheckpointError: It does not, or nobody has kept it: equal shapes say nothing.
        """
        self.ours = state.template()
        match read_rank_state(self.path, 0).placing:
            case [placing, dict(pieces)] if placing == placing_of(self.ours):
                refuse_other_pieces(pieces, pieces_of(self.ours))
            case _:
                raise CheckpointError("the ranks stand otherwise than when it was saved")

    def read(self) -> None:
        """Read the tensors into the state's own, and all else; nothing is read after that.

        Raises:
            CheckpointError: Something cannot be read.
        """
        local = {name: local_part(tensor) for name, tensor in self.ours.items()}
        reader = SafeReader(self.path)
        metadata = reader.read_metadata()
        own, marker = read_rank_state(self.path, 0), open_checkpoint(self.path).marker
        refuse_outside(metadata, marker.files, self.path)
        self.into = targets(own, local, metadata.state_dict_metadata)
        try:
            dcp.load(self.into, storage_reader=reader, no_dist=True)
        except CheckpointException as error:
            raise CheckpointError(root_cause(error)) from error
        self.point = ResumePoint(
            step=own.step, path=self.path, own_rng=own, took_s=None, marker=marker
        )

    def restore(self, state: TrainState) -> None:
        """Set the state; every rank has read its part.

        Raises:
            StateError: It does not fit.
        """
        tensors = {name: self.ours.get(name, self.into[name]) for name in self.into}
        if self.point is not None and self.point.own_rng is not None:
            state.restore(tensors, self.point.own_rng.leaves)


def refuse_other_pieces(theirs: dict[str, Json], ours: dict[str, Json]) -> None:
    """See that what was saved under a name is the piece that this rank holds under it.

    A parameter that no loss had reached has no optimizer state there, and may have none.

    Raises:
        CheckpointError: One is another; named.
    """
    for path in sorted(theirs.keys() | ours.keys()):
        if path.startswith(MODEL) or (path in theirs and path in ours):
            there, here = theirs.get(path), ours.get(path)
            if there != here:
                raise CheckpointError(f"{path} was {there} on this rank, and is {here} now")


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """Return what this rank holds of a tensor, in the same memory."""
    with torch.no_grad():
        return tensor.to_local() if isinstance(tensor, DTensor) else tensor
