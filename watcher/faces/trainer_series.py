"""The trainers of this node as series: what each has said last, for Prometheus.

Labels are numbers and words from the code, never what a trainer calls itself; a trainer that is
gone takes its series with it. Ages, rates and ratios are left to the query.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily

from watcher.faces.trainer_slots import OTHER
from watcher.trainers import Trainer, TrainerState

_FOREIGN = re.compile(r"[^A-Za-z0-9._-]")
_TEXT_LIMIT_CHARS = 64
_NAME = "reprieve_trainer_"


@dataclass(frozen=True, slots=True)
class Shown:
    """A trainer, with what the watcher adds to its word."""

    trainer: Trainer
    label: str
    heartbeat_at: float
    """Its last sign of life, in seconds of Unix time by this machine's clock."""
    first_seen_at: float
    """When the watcher has seen it first."""


@dataclass(frozen=True, slots=True)
class _Figure:
    """One series a trainer.

    Attributes:
        name: Without what all names begin with.
        help: For people.
        of: Returns its value; None where the trainer says nothing of it.
        worst: Chooses the value of several trainers that share a label.
    """

    name: str
    help: str
    of: Callable[[Shown], float | None]
    worst: Callable[[Iterable[float]], float] = max


def _committed_at(one: Shown) -> float | None:
    at = one.trainer.committed_at
    return None if at is None else at.timestamp()


_FIGURES = (
    _Figure(
        "heartbeat_timestamp_seconds",
        "The trainer's last sign of life, in Unix seconds.",
        lambda one: one.heartbeat_at,
        min,
    ),
    _Figure(
        "first_seen_timestamp_seconds",
        "When this watcher saw the trainer first, in Unix seconds.",
        lambda one: one.first_seen_at,
        min,
    ),
    _Figure("attempt", "Which start of its run this is.", lambda one: one.trainer.figures.attempt),
    _Figure("step", "Steps finished.", lambda one: float(one.trainer.step), min),
    _Figure(
        "step_seconds",
        "How long a step takes of late, saves apart.",
        lambda one: one.trainer.figures.step_s,
    ),
    _Figure(
        "committed_step",
        "Step of the newest checkpoint that the trainer knows of.",
        lambda one: one.trainer.committed_step,
        min,
    ),
    _Figure(
        "last_commit_timestamp_seconds",
        "When this start's newest commit was, in Unix seconds; absent before the first.",
        _committed_at,
        min,
    ),
    _Figure(
        "save_stall_seconds",
        "How long the last save has held the training up.",
        lambda one: one.trainer.figures.stall_s,
    ),
    _Figure(
        "commit_lag_seconds",
        "How long it took from the end of the last save's stall to its commit.",
        lambda one: one.trainer.figures.commit_lag_s,
    ),
    _Figure(
        "save_interval_steps",
        "Steps between saves.",
        lambda one: one.trainer.figures.save_every_steps,
        min,
    ),
    _Figure(
        "noticed_timestamp_seconds",
        "When this start heard of its newest stop notice, in Unix seconds; absent before.",
        lambda one: one.trainer.figures.noticed_at,
        min,
    ),
    _Figure(
        "verified_timestamp_seconds",
        "When a checkpoint of the run was last found good byte for byte, in Unix seconds; only "
        "from the node of rank 0.",
        lambda one: one.trainer.figures.verified_at,
        min,
    ),
    _Figure(
        "paid_gpu_seconds",
        "GPU time that the run has paid for, all attempts together; only from the node of rank 0.",
        lambda one: one.trainer.figures.paid_gpu_s,
    ),
    _Figure(
        "productive_gpu_seconds",
        "What of the paid GPU time has lasted, as far as is known by now.",
        lambda one: one.trainer.figures.productive_gpu_s,
        min,
    ),
    _Figure(
        "straggler_score",
        "Own time of the slowest rank in medians of all: 1 is as fast as the others.",
        lambda one: one.trainer.figures.straggler_score,
    ),
    _Figure(
        "straggler_seconds",
        "What of each step is lost to a rank that was found to be slow; 0 while none is.",
        lambda one: one.trainer.figures.straggler_s,
    ),
)


def series_of(shown: Sequence[Shown]) -> Iterator[GaugeMetricFamily]:
    """Yield the series of all trainers; those beyond the labels share one, by the worst value."""
    by_label: dict[str, list[Shown]] = defaultdict(list)
    for one in shown:
        by_label[one.label].append(one)
    for figure in _FIGURES:
        family = GaugeMetricFamily(_NAME + figure.name, figure.help, None, ["trainer"])
        for label, several in by_label.items():
            values = [value for one in several if (value := figure.of(one)) is not None]
            if values:
                family.add_metric([label], figure.worst(values))
        yield family
    yield _states(by_label)
    yield _info(shown)


def _states(by_label: dict[str, list[Shown]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "reprieve_trainer_state",
        "How many trainers of this label are in the state: running, stopping, saved, exited.",
        None,
        ["trainer", "state"],
    )
    for label, several in by_label.items():
        for state in TrainerState:
            there = sum(one.trainer.state is state for one in several)
            family.add_metric([label, state.value], there)
    return family


def _info(shown: Sequence[Shown]) -> GaugeMetricFamily:
    """Say which pod is behind a label; the text is the trainer's own, cut and cleaned."""
    family = GaugeMetricFamily(
        "reprieve_trainer_info",
        "1 for each trainer, with the pod that it says it is in.",
        None,
        ["trainer", "pod_uid"],
    )
    for one in shown:
        if one.label != OTHER:
            pod_uid = _FOREIGN.sub("_", one.trainer.pod_uid)[:_TEXT_LIMIT_CHARS]
            family.add_metric([one.label, pod_uid], 1)
    return family
