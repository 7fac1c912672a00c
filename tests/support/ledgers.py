"""Ledgers to read: attempts as they would have been recorded."""

import json
from collections.abc import Iterable
from pathlib import Path

from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.records import (
    Begin,
    Committed,
    End,
    Outcome,
    Part,
    Record,
    Saved,
    Spent,
    Steps,
    to_json,
)

DRAWN = "5f3c"
"""Of every attempt here."""


def begin(attempt: int, at: float, resumed_step: int = 0, gpus: int = 8) -> Begin:
    """Return the begin of an attempt."""
    return Begin(at=at, attempt=attempt, token=DRAWN, gpus=gpus, nodes=1, resumed_step=resumed_step)


def write(root: Path, *attempts: Iterable[Record]) -> None:
    """Write each attempt's records to its file."""
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    for attempt in attempts:
        records = list(attempt)
        head = records[0]
        assert isinstance(head, Begin)
        lines = "".join(json.dumps(to_json(record)) + "\n" for record in records)
        (root / FOLDER / f"a{head.attempt}-{head.token}.jsonl").write_text(lines)


def example(root: Path) -> tuple[Attempt, ...]:
    """Write and read a run of 30 steps of 10 s, on 8 GPUs, saved every 10, in three attempts.

    The first is preempted at step 17 with a notice, the second is killed at 24, the third ends.
    """
    write(
        root,
        [
            begin(1, 1000),
            Spent(part=Part.RENDEZVOUS, began=1005, ended=1008),
            Steps(first=0, end=1, began=1010, ended=1035),  # 15 s of warm-up
            Steps(first=1, end=10, began=1035, ended=1125),
            Saved(step=10, began=1125, ended=1127),
            Committed(step=10, at=1133),
            Steps(first=10, end=17, began=1127, ended=1197, straggler_s=7),
            Heard(at=1190, id="n-1"),
            End(at=1198, outcome=Outcome.PREEMPTED, step=17),
        ],
        [
            begin(2, 1250, resumed_step=10),
            Spent(part=Part.WAITING, began=1210, ended=1240),
            Spent(part=Part.LOAD, began=1255, ended=1262),
            Steps(first=10, end=11, began=1265, ended=1275),
            Steps(first=11, end=20, began=1275, ended=1365),
            Saved(step=20, began=1365, ended=1368),
            Committed(step=20, at=1372),
            Steps(first=20, end=24, began=1368, ended=1408),
        ],
        [
            begin(3, 1500, resumed_step=20, gpus=4),
            Spent(part=Part.LOAD, began=1503, ended=1506),
            Steps(first=20, end=21, began=1510, ended=1520),
            Steps(first=21, end=30, began=1520, ended=1610),
            Saved(step=30, began=1612, ended=1614),
            Committed(step=30, at=1618),
            End(at=1620, outcome=Outcome.FINISHED, step=30),
        ],
    )
    return read_ledger(root)
