"""How a run stands, for the program around it."""

from dataclasses import dataclass

from trainer_hooks.at_stop import AtStop


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How the run stands, or how it ended; the same on all ranks once the steps are over."""

    is_preempted: bool
    """All ranks have stopped before ``until``: exit with ``EXIT_PREEMPTED``."""
    is_finished: bool
    """``until`` is reached and its checkpoint committed."""
    step: int
    """Steps finished."""
    committed_step: int | None
    """Step of the newest checkpoint; a resume goes on from there."""
    at_stop: AtStop | None = None
    """What was done at the agreed stop; None if there was none."""
    failed_saves: int = 0
    """How many of the newest saves, in a row, were not committed; 0 after a good one."""
