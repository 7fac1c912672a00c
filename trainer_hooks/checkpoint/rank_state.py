"""``state/rank_N.json``: what is not a tensor, and the random numbers of one rank.

Outside DCP, which would pickle it, and would keep one rank's copy of what differs between ranks.
"""

import json
from dataclasses import dataclass

from trainer_hooks.checkpoint.durable import write_file
from trainer_hooks.checkpoint.layout import state_file
from trainer_hooks.checkpoint.manifest import FileEntry, digest_of
from trainer_hooks.checkpoint.place import Place, read_json
from trainer_hooks.errors import CheckpointError, UntrustedFileError
from trainer_hooks.state import Snapshot
from trainer_hooks.untrusted import MAX_DEPTH, Json, is_deeper
from trainer_hooks.world import World

MAX_STATE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RankState:
    """What one rank's state file holds."""

    step: int
    world_size: int
    leaves: dict[str, Json]
    rng: dict[str, Json]
    placing: Json = None
    """Where the rank stood; None where nobody has kept it."""


def write_rank_state(directory: Place, snapshot: Snapshot, world: World) -> FileEntry:
    """Write this rank's state file, durably, and return its entry for the manifest.

    Raises:
        CheckpointError: No resume would read it back; says what to do.
    """
    body: dict[str, Json] = {
        "schema": 1,
        "step": snapshot.step,
        "world_size": world.size,
        "rng": snapshot.rng,
        "leaves": snapshot.leaves,
        "placing": snapshot.placing,
    }
    data = json.dumps(body).encode()
    if len(data) > MAX_STATE_BYTES or is_deeper(body, MAX_DEPTH):
        raise CheckpointError(
            f"what is no tensor takes {len(data)} bytes and must be at most {MAX_STATE_BYTES}, in "
            f"at most {MAX_DEPTH} levels: let state_dict() keep large data in tensors, and flat"
        )
    name = state_file(world.rank)
    write_file(directory / name, data)
    return FileEntry(name, len(data), digest_of(data))


def read_rank_state(directory: Place, rank: int) -> RankState:
    """Read a rank's state file.

    Raises:
        CheckpointError: It cannot be read or is not one.
    """
    path = directory / state_file(rank)
    try:
        data = read_json(path, max_bytes=MAX_STATE_BYTES)
    except (OSError, UntrustedFileError) as error:
        raise CheckpointError(f"{path} cannot be used: {error}") from error
    match data:
        case {
            "schema": 1,
            "step": int(step),
            "world_size": int(world_size),
            "rng": dict(rng),
            "leaves": dict(leaves),
        }:
            return RankState(
                step=step,
                world_size=world_size,
                leaves=leaves,
                rng=rng,
                placing=data.get("placing"),
            )
    raise CheckpointError(f"{path} is not a state file of schema 1")
