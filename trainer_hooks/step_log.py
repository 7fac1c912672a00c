"""The step log: what each step of this rank did, for whoever compares two runs.

Written where ``REPRIEVE_STEP_LOG`` says so, and only there: ``verify-resume`` does. Digesting the
whole state after every step is no price that a real run should pay.
"""

import json
import os
import time
from pathlib import Path

import torch
import xxhash

from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError
from trainer_hooks.state import Snapshot, TrainState
from trainer_hooks.world import World

VARIABLE = "REPRIEVE_STEP_LOG"
"""A directory; each rank appends a line of JSON a step to ``rank_N.jsonl`` in it."""


class StepLog:
    """One rank's log, of one start. Every rank makes the same calls.

    Args:
        directory: Made if need be.
        state: What is digested.
        world: The ranks.

    Raises:
        ConfigError: The directory cannot be written.
    """

    def __init__(self, directory: Path, state: TrainState, world: World) -> None:
        self._path = directory / f"rank_{world.rank}.jsonl"
        self._state = state
        self._sampler = state.data if isinstance(state.data, ResumableSampler) else None
        self._ranks = world.size
        self._loss: float | torch.Tensor | None = None
        self._position = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{VARIABLE}={directory} cannot be made: {error}") from error

    def note_loss(self, loss: float | torch.Tensor) -> None:
        """Keep the loss of the step under way, and nothing of the graph behind it."""
        self._loss = loss.detach() if isinstance(loss, torch.Tensor) else loss

    def begin(self) -> None:
        """Note where the data is before a step."""
        self._position = 0 if self._sampler is None else self._sampler.position

    def write(self, step: int, *, until: int, committed: int | None) -> None:
        """Append the step that has just been finished.

        Args:
            step: Its number, from 0.
            until: Where the run ends.
            committed: Step of the newest checkpoint known.

        Raises:
            ConfigError: It cannot be written.
        """
        snapshot = self._state.capture(step + 1) if self._state.has_stepped else None
        record = {
            "step": step,
            "ids": self._ids(),
            "lr": [float(group["lr"]) for group in self._state.optimizer.param_groups],
            "loss": None if self._loss is None else float(self._loss),
            "time": time.time(),
            "state": None if snapshot is None else _digest(snapshot),
            "rng": None if snapshot is None else _digest_of_rng(snapshot),
            "threads": torch.get_num_threads(),
            "ranks": self._ranks,
            "until": until,
            "committed": committed,
        }
        self._loss = None
        try:
            # In one write, which a SIGKILL does not cut in two.
            with self._path.open("ab", buffering=0) as file:
                file.write(json.dumps(record).encode("ascii") + b"\n")
        except OSError as error:
            raise ConfigError(f"{self._path} cannot be written: {error}") from error

    def _ids(self) -> list[int]:
        """Return the samples that were handed out to this rank since the step began."""
        return [] if self._sampler is None else self._sampler.ids_since(self._position)


def open_step_log(state: TrainState, world: World) -> StepLog | None:
    """Return this rank's step log, None where nobody has asked for one.

    Raises:
        ConfigError: It cannot be written.
    """
    directory = os.environ.get(VARIABLE)
    return StepLog(Path(directory), state, world) if directory else None


def _digest(snapshot: Snapshot) -> str:
    """Return a digest of every bit of a state but the random numbers: this rank's own share."""
    digest = xxhash.xxh3_128(_json(snapshot.leaves))
    for path, tensor in sorted(snapshot.tensors.items()):
        # to_local: of a DTensor a rank has its shard.
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        plain = local.detach().cpu().contiguous().flatten().view(torch.uint8)
        digest.update(f"{path} {local.dtype} {tuple(local.shape)}".encode())
        digest.update(plain.numpy().tobytes())
    return digest.hexdigest()


def _digest_of_rng(snapshot: Snapshot) -> str:
    """Digest torch's generators. Python's and numpy's begin anywhere where nobody seeds them."""
    own = {name: snapshot.rng[name] for name in ("torch", "cuda")}
    return xxhash.xxh3_128(_json(own)).hexdigest()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode("ascii")
