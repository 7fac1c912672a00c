"""What a run has done, step by step, read back from its log."""

import json
from pathlib import Path

Record = tuple[list[int], float, float]
"""Sample ids, learning rate, loss."""


def history(log_dir: Path, rank: int) -> dict[int, Record]:
    """Return each step's record, the last one where a step was done twice.

    A step that was redone must have come out the same.
    """
    steps: dict[int, Record] = {}
    for line in (log_dir / f"rank_{rank}.jsonl").read_text(encoding="ascii").splitlines():
        data = json.loads(line)
        record = (data["ids"], data["lr"], data["loss"])
        assert steps.setdefault(data["step"], record) == record, f"step {data['step']} differs"
    return steps


def steps_done(log_dir: Path, rank: int) -> list[int]:
    """Return the steps in the order they were done."""
    lines = (log_dir / f"rank_{rank}.jsonl").read_text(encoding="ascii").splitlines()
    return [json.loads(line)["step"] for line in lines]
