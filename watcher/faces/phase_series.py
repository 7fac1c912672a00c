"""How the ranks on this node spend their steps, as counters for Prometheus.

The label ``local_rank`` is the place in what the trainer has said, never a text of its own.
"""

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily

from watcher.faces.trainer_series import Shown
from watcher.faces.trainer_slots import OTHER


def phases_of(shown: Iterable[Shown]) -> Iterator[CounterMetricFamily]:
    """Yield the counters of each rank of the trainers that have a label of their own."""
    steps = CounterMetricFamily(
        "reprieve_trainer_rank_steps",
        "Steps that this start has finished on a rank.",
        labels=["trainer", "local_rank"],
    )
    spent = CounterMetricFamily(
        "reprieve_trainer_rank_phase_seconds",
        "Time that a rank has spent in this start: data (waiting for a batch), compute or save.",
        labels=["trainer", "local_rank", "phase"],
    )
    for one in shown:
        if one.label == OTHER:  # counters of several have no sum that means anything
            continue
        for local_rank, rank in enumerate(one.trainer.figures.ranks):
            if rank.steps is not None:
                steps.add_metric([one.label, str(local_rank)], rank.steps)
            for phase, seconds in rank.spent_s.items():
                spent.add_metric([one.label, str(local_rank), phase.value], seconds)
    yield steps
    yield spent
