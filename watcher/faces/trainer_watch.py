"""Looks at the trainers for the metrics; nothing waits for it, and nothing is decided by it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from watcher.faces.notice_stages import NoticeStages
from watcher.faces.phase_series import phases_of
from watcher.faces.trainer_series import Shown, series_of
from watcher.faces.trainer_slots import TrainerSlots
from watcher.metrics import Metrics
from watcher.notice import Moment, NoticeKind, Urgency
from watcher.state import State
from watcher.trainers import FILE_LIMIT, Trainer, Trainers

LOOK_EVERY_S = 2.0
"""Seconds between looks: trainers speak as often."""

KEPT_S = 60.0
"""How long a trainer that is silent, or has ended, is still shown, in seconds: long enough for a
scrape every 30 s to see how it has ended."""


class TrainerWatch(Collector):
    """Keeps what the trainers have said last, and shows it when the metrics are asked for.

    Args:
        look: Returns what the trainers say now.
        state: Which notices are in force.
        metrics: Where starts and stages are counted; this collector is added to its registry.
        now: Reads both clocks.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Trainers]],
        state: State,
        metrics: Metrics,
        now: Callable[[], Moment],
    ) -> None:
        self._look = look
        self._state = state
        self._now = now
        self._starts = metrics.trainer_starts
        self._stages = NoticeStages(state, metrics, now())
        self._slots = TrainerSlots()
        self._first_seen: dict[str, float] | None = None
        self._found: tuple[Trainer, ...] = ()
        self._last = Trainers()
        metrics.registry.register(self)

    async def keep(self) -> None:
        """Look again and again; never returns."""
        while True:
            self.note(await self._look())
            await asyncio.sleep(LOOK_EVERY_S)

    def note(self, trainers: Trainers) -> None:
        """Take in what a look has found; where it could not see all, what was known stays."""
        self._last = trainers
        if trainers.unknown:
            self._found = self._with_known(trainers.found)
        else:
            self._found = trainers.found
        is_first, seen = self._first_seen is None, self._first_seen or {}
        at = self._now().wall.timestamp()
        self._first_seen = {one.id: seen.get(one.id, at) for one in self._found}
        if not is_first:  # or a restarted watcher would count those that have been here for long
            self._starts.inc(len(self._first_seen.keys() - seen.keys()))
        self._stages.note(self._found)

    def _with_known(self, found: tuple[Trainer, ...]) -> tuple[Trainer, ...]:
        """Return who was found just now, and who was known and has been heard from of late.

        At most ``FILE_LIMIT`` in all: whoever keeps more files there than a look sees, and gives
        them other names each time, would fill our memory.
        """
        seen, now_s = {one.id for one in found}, self._now().boottime_s
        silent = [one for one in self._found if one.id not in seen and _is_shown(one, now_s)]
        known = silent[: max(0, FILE_LIMIT - len(found))]
        return (*known, *found)

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Yield the series, as Prometheus's registry asks for them."""
        shown = self._shown()
        yield from series_of(shown)
        yield from phases_of(shown)
        yield _single(
            "reprieve_trainer_files_refused",
            "Files of trainers that can't be understood; the log says why.",
            len(self._last.refused),
        )
        yield _single(
            "reprieve_trainers_unknown",
            "1 while there may be trainers that can't be seen.",
            bool(self._last.unknown),
        )
        yield self._in_force()

    def _shown(self) -> list[Shown]:
        now = self._now()
        live = [one for one in self._found if _is_shown(one, now.boottime_s)]
        labels = self._slots.labels(one.id for one in live)
        offset_s, seen = now.wall.timestamp() - now.boottime_s, self._first_seen or {}
        return [
            Shown(one, labels[one.id], one.heartbeat_s + offset_s, seen[one.id]) for one in live
        ]

    def _in_force(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "reprieve_notices_in_force",
            "Notices in force, by kind and urgency.",
            None,
            ["kind", "urgency"],
        )
        standings = self._state.in_force()
        for kind in NoticeKind:
            for urgency in Urgency:
                there = [(one.notice.kind, one.urgency) for one in standings]
                family.add_metric([kind.value, urgency.value], there.count((kind, urgency)))
        return family


def _is_shown(trainer: Trainer, now_s: float) -> bool:
    return abs(now_s - trainer.heartbeat_s) <= KEPT_S


def _single(name: str, said: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, said, value)
