"""Every rank says what its replicated parameters add up to, and the last to say so compares."""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial

import torch
from torch import nn
from torch.distributed import DistStoreError

from trainer_hooks.bits import digest
from trainer_hooks.health.desk import Desk
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.health.replicas import Difference, Said, difference

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=30)
"""How long a rank's desk waits for rank 0's digests; the training waits for nothing."""


class ReplicaCheck:
    """One rank's part in comparing replicas; the training thread calls it at each step.

    Args:
        parameters: Those that are alike on all ranks, by name.
        every_steps: Steps between two checks.
        desk: Tells the others.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], every_steps: int, desk: Desk) -> None:
        self._parameters = list(parameters.values())
        self._names = list(parameters)
        self._every_steps = every_steps
        self._desk = desk

    def end(self, step: int, *, is_last: bool) -> None:
        """Look at the parameters as they are after ``step`` steps, if it is time to.

        Args:
            step: Steps finished.
            is_last: Whether the run ends with them: what it leaves is looked at in any case.
        """
        if is_last or step % self._every_steps == 0:
            self._desk.put(partial(self._compare, step, digest(self._parameters)))

    def _compare(self, step: int, sums: torch.Tensor, desk: Desk) -> None:
        own: list[int] = sums.tolist()  # waits for the device, in the desk's thread
        key = f"health/digest/{step}"
        try:
            first = _first_difference(own, _reference(key, own, desk))
        except DistStoreError:
            log.warning("step=%d: rank 0 has told no digests, so none are compared", step)
            return
        mark = hashlib.blake2b(json.dumps(own).encode(), digest_size=16).hexdigest()
        said = Said(rank=desk.world.rank, digest=mark, first=first)
        desk.store.append(f"{key}/said", json.dumps(asdict(said)) + "\n")
        if desk.store.add(f"{key}/count", 1) == desk.world.size:
            self._judge(step, key, desk)

    def _judge(self, step: int, key: str, desk: Desk) -> None:
        lines = desk.store.get(f"{key}/said").splitlines()
        found = difference([Said(**json.loads(line)) for line in lines])
        good_step = desk.store.add("health/digest/good", 0)
        if found is None:
            desk.store.add("health/digest/good", step - good_step)
        else:
            desk.publish(_finding(step, good_step, self._names[found.first], found))
        for name in ("reference", "said", "count"):
            desk.store.delete_key(f"{key}/{name}")


def _reference(key: str, own: list[int], desk: Desk) -> list[int]:
    """Return rank 0's digests, once it has told them."""
    if desk.world.is_coordinator:
        desk.store.set(f"{key}/reference", json.dumps(own))
        return own
    desk.store.wait([f"{key}/reference"], PATIENCE)
    reference: list[int] = json.loads(desk.store.get(f"{key}/reference"))
    return reference


def _first_difference(own: Sequence[int], reference: Sequence[int]) -> int | None:
    pairs = zip(own, reference, strict=True)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), None)


def _finding(step: int, good_step: int, name: str, found: Difference) -> Finding:
    ranks = ", ".join(str(rank) for rank in found.ranks)
    who = (
        f"parameters of rank {ranks} are not the others'"
        if found.is_certain
        else f"parameters of ranks {ranks} differ, and nobody knows whose are right"
    )
    return Finding(
        guard=Guard.DIGEST,
        step=step,
        ranks=found.ranks,
        is_certain=found.is_certain,
        good_step=good_step,
        text=f"{who}; the first is {name}",
    )
