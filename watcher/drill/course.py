"""How a drill has gone, and whether the job has survived it; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

PREEMPTED = 75
"""What a job ends with that wants to be started again: docs/contracts.md."""

WINDOWS_S = {"AWS": 120.0, "Azure, Google Cloud": 30.0, "GKE's graceful part": 15.0}
"""How long ahead a cloud says that it takes a Spot node: docs/aws.md, azure.md and gcp.md; and what
of it a trainer's pod gets from GKE's kubelet: docs/schedulers.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What was seen, in seconds after the notice; None where it was not seen."""

    window_s: float
    """How long ahead the notice was."""
    flag_s: float | None = None
    noticed_s: float | None = None
    """When the trainer heard of it, by its own word, as for the two that follow."""
    stopped_s: float | None = None
    committed_s: float | None = None
    ended_s: float | None = None
    """When its command ended."""
    code: int | None = None
    """What it ended with; None where it had to be killed, or where nobody sees it."""
    is_code_seen: bool = True
    """False of a drill on a real node: there the job is a scheduler's, and its end is its word."""
    step: int | None = None
    """Steps finished."""
    committed_step: int | None = None
    resumed_step: int | None = None
    """The first step that was seen after a new start."""
    resumed_after_s: float | None = None
    """Seconds from the new start to the first step that had not been done before."""
    is_resume_asked: bool = True

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Course":
        """Return the course that a :meth:`document` tells of.

        Raises:
            KeyError: Something is missing.
            TypeError: Something is of another type.
        """
        values = {one.name: said[one.name] for one in fields(cls)}
        for name, value in values.items():
            if not isinstance(value, int | float | None):
                raise TypeError(f"{name} is no number")
        return cls(**values)

    def failures(self) -> Iterator[str]:
        """Say what keeps this from being a survival; nothing if it is one."""
        if why := self._lost_at_its_end():
            yield why
        if self.code == 0:
            return  # it has done all its work: there is nothing to resume
        if self.committed_step is None:
            yield "no committed checkpoint was seen, so it would begin at step 0"
        elif self.is_resume_asked and self.resumed_after_s is None:
            yield "started again, it was not seen to get past where it had been"
        elif (self.resumed_step or self.committed_step) < self.committed_step:
            yield f"started again, it began before step {self.committed_step}"

    def _lost_at_its_end(self) -> str:
        """Return what is wrong with how it ended; empty if nothing is."""
        if self.is_code_seen and self.code is None:
            return "it did not end before the node would have been gone, and was killed"
        if self.ended_s is None:
            return "it did not end before the node would have been gone"
        if self.is_code_seen and self.code not in (0, PREEMPTED):
            return f"it ended with {self.code}; {PREEMPTED} is what schedulers start again"
        is_late = self.ended_s > self.window_s
        return "it ended after the node would have been gone" if is_late else ""

    @property
    def stop_s(self) -> float:
        """Seconds from the notice to the end, or to the commit where no end is seen."""
        return next((at for at in (self.ended_s, self.committed_s) if at is not None), 0.0)

    def document(self) -> dict[str, Any]:
        """Return all of it for programs."""
        failures = list(self.failures())
        spare = self._spare_s(self.stop_s) if self.stop_s else {}
        return {"survived": not failures, "why_not": failures, **asdict(self), "spare_s": spare}

    def lines(self) -> Iterator[str]:
        """Return all of it for people."""
        for what, at_s, more in self.moments():
            yield f"{'not seen' if at_s is None else f'{at_s:8.3f} s'}  {what}: {more}"
        if self.resumed_after_s is not None:
            yield f"{self.resumed_after_s:8.3f} s  from a new start to step {self._next_step()}"
        if self.step is not None and self.committed_step is not None:
            yield f"steps done again: {max(0, self.step - self.committed_step)}"
        if self.stop_s:
            spare = self._spare_s(self.stop_s).items()
            yield "to spare: " + ", ".join(f"{left_s:+.0f} s ({name})" for name, left_s in spare)
        failures = list(self.failures())
        yield "the job survives" if not failures else f"the job is lost: {'; '.join(failures)}"

    def moments(self) -> tuple[tuple[str, float | None, str], ...]:
        """Return what happened, when, and more about it, in the order in which it should."""
        return (
            ("notice", 0.0, f"the node is gone in {self.window_s:g} s"),
            ("flag", self.flag_s, "notice.json is there"),
            ("heard", self.noticed_s, "by the trainer"),
            ("stopped", self.stopped_s, f"after step {self.step}"),
            ("committed", self.committed_s, f"step {self.committed_step}"),
            ("ended", self.ended_s, f"exit code {self.code}" if self.is_code_seen else "its word"),
        )

    def _next_step(self) -> int:
        return (self.committed_step or 0) + 1

    @staticmethod
    def _spare_s(ended_s: float) -> dict[str, float]:
        return {name: round(window_s - ended_s, 3) for name, window_s in WINDOWS_S.items()}
