"""How the checkpointer stands beside the others: ratios within a round, and targets for them.

The targets of a load are those of a save, likewise: so much more than torch's own takes, and so
much of what obstore moves. What a load has to do that the others don't is allowed for, and named.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.intervals import Interval, ratio_interval
from lab.saving import ALONE, ASYNC, BUCKET, OURS, Round

STALL_TARGET = 1.05
DURABLE_TARGET = 1.15
"""Times async_save. design.md 7: commit overhead."""

LOAD_TARGET = DURABLE_TARGET
"""Times dcp.load; with all digests compared, times that and reading every byte for its digest. The
two come one after the other: no tensor is touched before all ranks have found their files whole."""

MOVED_TARGET = 0.9
"""Times what obstore alone moves, up or down. The copies between tensors and what is moved are no
part of it, as obstore alone makes none: an upload begins when the stall ends, and a fetch ends when
every byte is here and its digest compared."""

TARGETS = {
    "stall": STALL_TARGET,
    "durable": DURABLE_TARGET,
    "upload": MOVED_TARGET,
    "load": LOAD_TARGET,
    "load_on_trust": LOAD_TARGET,
    "fetch": MOVED_TARGET,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """How ours stands, in one place at one size."""

    stall: Interval
    """Times async_save."""
    durable: Interval
    """Times async_save."""
    upload: Interval
    """Bytes a second, times what obstore alone moves."""
    load: Interval
    """All digests compared: times dcp.load and reading every byte for its digest."""
    load_on_trust: Interval
    """Times dcp.load."""
    fetch: Interval
    """Bytes a second, all digests compared, times what obstore alone moves."""

    @property
    def missed(self) -> list[str]:
        """The targets that are missed."""
        is_missed = {
            "stall": self.stall.is_beyond(STALL_TARGET),
            "durable": self.durable.is_beyond(DURABLE_TARGET),
            "upload": self.upload.high < MOVED_TARGET,
            "load": self.load.is_beyond(LOAD_TARGET),
            "load_on_trust": self.load_on_trust.is_beyond(LOAD_TARGET),
            "fetch": self.fetch.high < MOVED_TARGET,
        }
        return [name for name, is_so in is_missed.items() if is_so]

    def lines(self) -> Iterator[tuple[str, Interval]]:
        """Yield each ratio under the name that people read."""
        yield "stall, times async_save", self.stall
        yield "durable, times async_save", self.durable
        yield "upload, times obstore alone", self.upload
        yield "load, times load and digests", self.load
        yield "load on trust, times load", self.load_on_trust
        yield "fetch, times obstore alone", self.fetch


def judge(rounds: Sequence[Round]) -> Judged:
    """Compare ours with torch's own, and what it moves with what obstore does, round by round."""
    read_and_loaded = [round_[ASYNC]["load_s"] + round_[ASYNC]["digests_s"] for round_ in rounds]
    uploaded = [
        round_[BUCKET]["bytes"] / (round_[BUCKET]["durable_s"] - round_[BUCKET]["stall_s"])
        for round_ in rounds
    ]
    return Judged(
        stall=times(rounds, OURS, "stall_s", ASYNC),
        durable=times(rounds, OURS, "durable_s", ASYNC),
        upload=ratio_interval(uploaded, _rates(rounds, ALONE, "durable_s")),
        load=ratio_interval([round_[OURS]["load_s"] for round_ in rounds], read_and_loaded),
        load_on_trust=ratio_interval(
            [round_[OURS]["load_on_trust_s"] for round_ in rounds],
            [round_[ASYNC]["load_s"] for round_ in rounds],
        ),
        fetch=ratio_interval(_rates(rounds, BUCKET, "fetch_s"), _rates(rounds, ALONE, "load_s")),
    )


def times(rounds: Sequence[Round], way: str, figure: str, peer: str) -> Interval:
    """Return how many times the peer's figure one way's is."""
    return ratio_interval([r[way][figure] for r in rounds], [r[peer][figure] for r in rounds])


def _rates(rounds: Sequence[Round], way: str, figure: str) -> list[float]:
    return [round_[way]["bytes"] / round_[way][figure] for round_ in rounds]
