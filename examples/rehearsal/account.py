"""What the demo tells in the end: the timeline, the comparisons, and whether the job survived."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from rehearsal.timeline import Timeline, known
from trainer_hooks.resume_check.comparison import Comparison


@dataclass(slots=True, kw_only=True)
class Account:
    """All that was learnt, be it that the demo has ended half-way."""

    window_s: int
    """How long before the end the cloud gives notice."""
    steps: int
    """How many steps the run has."""
    timeline: Timeline = field(default_factory=Timeline)
    comparisons: Sequence[Comparison] = ()
    failure: str | None = None
    """Why the demo could not be played to its end."""

    def lost_because(self) -> str | None:
        """Return why the job did not survive, or None if it did. What is unknown proves nothing."""
        timeline = self.timeline
        if self.failure is not None:
            return self.failure
        took_s = timeline.since_notice(timeline.exited)
        if took_s is None or took_s > self.window_s:
            return f"leaving took {seconds(took_s)} s of the {self.window_s} s there were"
        if timeline.committed_step is None or timeline.resumed_step != timeline.committed_step:
            return (
                f"step {known(timeline.committed_step)} was committed, "
                f"but the run went on from step {known(timeline.resumed_step)}"
            )
        for comparison in self.comparisons:
            if comparison.difference is not None:
                return f"{comparison.aspect} differ: {comparison.difference}"
        return None if self.comparisons else "nothing was compared"

    def last_line(self) -> str:
        """Return the verdict, in one line."""
        why = self.lost_because()
        if why is not None:
            return "LOST " + " ".join(why.split())
        timeline = self.timeline
        took_s = seconds(timeline.since_notice(timeline.exited))
        return (
            f"SURVIVED all ranks left {took_s} s after the notice, {timeline.steps_redone} steps "
            f"were redone, and all {self.steps} are bitwise those of an unbroken run"
        )

    def lines(self) -> Iterator[str]:
        """Yield the account for people, without the last line."""
        yield "  seconds  who       what"
        for since_s, who, what in self.timeline.rows():
            yield f"{seconds(since_s):>9}  {who:9} {what}"
        yield ""
        yield "when the ranks had left, there were"
        for window, left_s in self.timeline.to_spare_s().items():
            mark = "  TOO LATE" if left_s is not None and left_s < 0 else ""
            yield f"{seconds(left_s):>9}  s to spare of {window:3} s{mark}"
        yield ""
        yield f"{known(self.timeline.steps_redone):>9}  steps redone of {self.steps}"
        if self.comparisons:
            yield ""
            yield "interrupted and unbroken run, bitwise, on every rank"
        for one in self.comparisons:
            verdict = "equal" if one.difference is None else f"DIFFER  {one.difference}"
            yield f"{one.count:9}  {one.aspect:14} {verdict}"

    def to_json(self) -> dict[str, object]:
        """Return the account for programs; null stands for what is unknown."""
        return {
            "survived": self.lost_because() is None,
            "lost_because": self.lost_because(),
            "window_s": self.window_s,
            "steps": self.steps,
            **self.timeline.to_json(),
            "comparisons": [asdict(comparison) for comparison in self.comparisons],
        }


def seconds(value: float | None) -> str:
    """Return seconds with two decimals."""
    return "unknown" if value is None else f"{value:.2f}"
