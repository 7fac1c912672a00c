"""One start of a job, with all that its record says."""

from dataclasses import dataclass, field

from trainer_hooks.phases import Phase
from trainer_hooks.waste.found import Found
from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.phase_spent import PhaseSpent
from trainer_hooks.waste.records import Begin, Committed, End, Outcome, Saved, Spent, Steps

_AT_WILL = frozenset({Outcome.FINISHED, Outcome.STOPPED, Outcome.DRILLED})


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One start of the job, as its record has it."""

    begin: Begin
    parts: list[Spent] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)
    saves: list[Saved] = field(default_factory=list)
    commits: list[Committed] = field(default_factory=list)
    notices: list[Heard] = field(default_factory=list)
    findings: list[Found] = field(default_factory=list)
    phases: dict[Phase, PhaseSpent] = field(default_factory=dict)
    """The last word on each."""
    end: End | None = None
    """None: it was killed, or is under way."""
    kept_steps: int | None = None
    """Steps below this are in the run's history: no later attempt began before them. None: all."""
    torn_lines: int = 0
    """Lines that are no records: half written, or damaged."""
    moved_s: float = 0.0
    """How much later than recorded it is taken to have been: its clock was set back by as much."""

    @property
    def last_at(self) -> float:
        """The last that is known of it."""
        known = [self.begin.at]
        known += [part.ended for part in self.parts]
        known += [steps.ended for steps in self.steps]
        known += [save.ended for save in self.saves]
        known += [commit.at for commit in self.commits]
        known += [notice.at for notice in self.notices]
        known += [finding.at for finding in self.findings]
        known += [spent.at for spent in self.phases.values()]
        if self.end is not None:
            known.append(self.end.at)
        return max(known)

    @property
    def at_step(self) -> int:
        """Steps that were finished when it ended."""
        return self.steps[-1].end if self.steps else self.begin.resumed_step

    @property
    def is_left_at_will(self) -> bool:
        """Whether nothing took it down: it has finished, a person has stopped it, or a drill."""
        return self.end is not None and self.end.outcome in _AT_WILL

    def is_kept(self, step: int) -> bool:
        """Tell whether the state after ``step`` steps is in the run's history."""
        return self.kept_steps is None or step <= self.kept_steps
