"""The AWS source under supervision, as in the daemon but a hundred times as fast."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from math import inf

from tests.support.clocks import TurnedClock
from tests.support.ears import Ears
from tests.support.running import running
from tests.support.scripted_imds import ScriptedImds
from watcher.health import SourceHealth
from watcher.httpclient import CALL_LIMIT_S, HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.aws_imds import KEYS, AwsImds
from watcher.sources.aws_imds_spot import SPOT
from watcher.sources.lane import Look
from watcher.sources.pace import Pace
from watcher.supervise import keep_running

BODY = '{"action": "terminate", "time": "2026-11-30T10:07:06Z"}'
"""A Spot notice of 120 s, if the clocks have not been turned."""


class ImdsEars(Ears):
    """With the source, whose main key is Spot's."""

    def __init__(self, source: AwsImds, health: SourceHealth) -> None:
        super().__init__(health)
        self.source = source

    def is_blind(self, key: str = SPOT) -> bool:
        """Tell whether the key is blind at the moment."""
        return super().is_blind(key)


@asynccontextmanager
async def listening(
    imds: ScriptedImds,
    clock: TurnedClock,
    *,
    adopted: tuple[Notice, ...] = (),
    rest_limit_s: float = CALL_LIMIT_S,
) -> AsyncIterator[ImdsEars]:
    """Run the source as the daemon does, but a hundred times as fast."""
    async with HttpClient(imds.url) as first, HttpClient(imds.url, rest_limit_s) as second:
        health = SourceHealth(AwsImds.name, KEYS, clock(), Metrics())
        source = AwsImds((first, second), health, clock, adopted)
        for lane in source.lanes:
            lane._looks = [hurried(look) for look in lane._looks]
        ears = ImdsEars(source, health)
        async with running(*(keep_running(lane, ears.inbox, clock) for lane in source.lanes)):
            yield ears


def hurried(look: Look) -> Look:
    """Make a key's pace a hundred times as fast; one that is read once stays so."""
    every_s = look.pace._every_s
    return replace(look, pace=Pace(every_s if every_s == inf else 0.01))
