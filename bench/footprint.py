"""What the daemon takes of a node: memory, a core's time while all is quiet, and whether it grows.

Real daemons on simulated EC2, one after another:

  idle    with a Node on a stand-in for the API server, at the usual pace, one poll of Spot a
          second: memory, and the share of a core over a minute
  polls   the same, polling a thousand times as often as usual (what then counts is how fast client
          and server are): memory over 50,000 polls, from their second fifth to their last
  queue   without a Node, with a queue of moto's that boto3 reads: memory after half a minute

Memory is what is resident (RSS), in MB of a million bytes. It takes about four minutes, for the
most part the polls.

The last line is one JSON object. Exit status 1 when a target is missed: more than 64 MB idle or
over the polls, more than 128 MB with a queue, more than 0.3 % of a core, or growth of more than
1 MB.

Where a machine is slow to wake (bench/lab/waking.py), `machine_allows` is false: the share of a
core is then the machine's more than the daemon's. `awake_core_share` beside it is the time of a
poll in the second part, in which the daemon never rests, as often as it polls in the first.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from lab.machine import machine
from lab.modes import HASTY, Daemon, in_cluster, with_queue
from lab.sizes import parsed
from lab.waking import EVEN_LIMIT, slower_after_a_pause
from rich.progress import Progress

RSS_TARGET_MB = 64.0
QUEUE_RSS_TARGET_MB = 128.0
CORE_TARGET = 0.003
"""design.md 7: the daemon, idle."""

GROWTH_TARGET_MB = 1.0
"""What counts as none, in a program whose memory comes and goes by pages."""

SETTLED_S = 15.0
"""After this long everything has been asked for once, and whatever is loaded late is loaded."""

IDLE_S = 60.0
QUEUE_S = 30.0
LOOK_S = 0.5
POLLS_LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What was measured; memory in MB."""

    idle_mb: float
    core_share: float
    """Of one core, idle."""
    polls_a_s: float
    """Idle."""
    slower_after_a_pause: float
    """How many times."""
    polls: int
    poll_s: float
    """Of a core, for each poll, while it polled."""
    polls_mb: Sequence[float]
    """At each look while it polled."""
    queue_mb: float

    @property
    def growth_mb(self) -> float:
        """How much it has grown from the second fifth of the polls to the last."""
        fifth = max(1, len(self.polls_mb) // 5)
        return median(self.polls_mb[-fifth:]) - median(self.polls_mb[fifth : 2 * fifth])

    @property
    def machine_allows(self) -> bool:
        """Whether the share of a core is the daemon's, more than the machine's."""
        return self.slower_after_a_pause <= EVEN_LIMIT

    @property
    def awake_share(self) -> float:
        """What the same polls would take of a core that never rests."""
        return self.poll_s * self.polls_a_s

    @property
    def is_missed(self) -> bool:
        """Whether a target is missed."""
        return (
            max(self.idle_mb, *self.polls_mb) > RSS_TARGET_MB
            or self.queue_mb > QUEUE_RSS_TARGET_MB
            or self.core_share > CORE_TARGET
            or self.growth_mb > GROWTH_TARGET_MB
        )


def main() -> None:
    """Measure, show the figures, and end the process with 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--polls", type=int, default=50_000, metavar="N", help="for growth (%(default)s)")
    add("--idle", type=float, default=IDLE_S, metavar="S", help="for the core (%(default)s)")
    arguments = parsed(parser, polls=10_000, idle=20.0)
    if arguments.polls < 1000:
        parser.error("--polls has to be at least 1000, or nothing could have grown")
    measured = asyncio.run(measure(arguments.polls, arguments.idle))
    print(table(measured))
    rest = {"idle_s": arguments.idle, "machine": machine()}
    print(json.dumps({**result_of(measured), **rest}))
    sys.exit(1 if measured.is_missed else 0)


async def measure(polls: int, idle_s: float) -> Footprint:
    """Return what the daemon takes in each mode."""
    with Progress(transient=True) as progress:
        async with in_cluster() as daemon:
            await daemon.is_ready()
            await _pause(SETTLED_S, "settles", progress)
            idle_mb, share, polls_a_s = await _idle(daemon, idle_s, progress)
        async with in_cluster(HASTY) as daemon:
            done, poll_s, polls_mb = await _polling(daemon, polls, progress)
        async with with_queue() as daemon:
            await daemon.is_ready()
            await _pause(QUEUE_S, "queue", progress)
            queue_mb = daemon.mb
    return Footprint(
        idle_mb=idle_mb,
        core_share=share,
        polls_a_s=polls_a_s,
        slower_after_a_pause=await asyncio.to_thread(slower_after_a_pause),
        polls=done,
        poll_s=poll_s,
        polls_mb=polls_mb,
        queue_mb=queue_mb,
    )


async def _idle(daemon: Daemon, idle_s: float, progress: Progress) -> tuple[float, float, float]:
    """Return memory, the share of a core, and the polls a second."""
    clock = asyncio.get_running_loop().time
    polls = await daemon.polls()
    before_s, began = daemon.core_s, clock()
    await _pause(idle_s, "idle", progress)
    took_s, core_s = clock() - began, daemon.core_s - before_s
    return daemon.mb, core_s / took_s, (await daemon.polls() - polls) / took_s


async def _polling(
    daemon: Daemon, polls: int, progress: Progress
) -> tuple[int, float, list[float]]:
    """Return how many polls there were, a core's time for each, and memory at each look."""
    task, seen_mb = progress.add_task("polls", total=polls), list[float]()
    before = done = await daemon.polls()
    before_s = daemon.core_s
    async with asyncio.timeout(POLLS_LIMIT_S):
        while done < polls:
            await asyncio.sleep(LOOK_S)
            done = await daemon.polls()
            seen_mb.append(daemon.mb)
            progress.update(task, completed=done)
    return done, (daemon.core_s - before_s) / (done - before), seen_mb


async def _pause(seconds: float, name: str, progress: Progress) -> None:
    """Wait, and show for how long."""
    task = progress.add_task(name, total=seconds)
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    while (left := end - clock()) > 0:
        await asyncio.sleep(min(left, LOOK_S))
        progress.update(task, completed=seconds - max(0.0, end - clock()))


def result_of(measured: Footprint) -> dict[str, object]:
    """Return the last line, but for what was set and the machine."""
    return {
        "bench": "footprint",
        "target": {
            "rss_mb": RSS_TARGET_MB,
            "queue_rss_mb": QUEUE_RSS_TARGET_MB,
            "core_share": CORE_TARGET,
            "growth_mb": GROWTH_TARGET_MB,
        },
        "missed": measured.is_missed,
        "idle": {
            "rss_mb": round(measured.idle_mb, 2),
            "core_share": round(measured.core_share, 5),
            "slower_after_a_pause": round(measured.slower_after_a_pause, 1),
            "machine_allows": measured.machine_allows,
            "awake_core_share": round(measured.awake_share, 5),
        },
        "polls": {
            "count": measured.polls,
            "core_s": round(measured.poll_s, 6),
            "first_rss_mb": round(measured.polls_mb[0], 2),
            "max_rss_mb": round(max(measured.polls_mb), 2),
            "growth_mb": round(measured.growth_mb, 3),
        },
        "queue": {"rss_mb": round(measured.queue_mb, 2)},
    }


def table(measured: Footprint) -> str:
    """Return the figures for people."""
    grown = f"{measured.growth_mb:+.2f} MB over {measured.polls} polls"
    shares = (
        f"{100 * measured.core_share:.2f} % of a core, awake {100 * measured.awake_share:.2f} %"
    )
    return "\n".join(
        (
            f"idle   {measured.idle_mb:7.1f} MB   {shares}",
            f"polls  {max(measured.polls_mb):7.1f} MB   {grown}",
            f"queue  {measured.queue_mb:7.1f} MB",
        )
    )


if __name__ == "__main__":
    main()
