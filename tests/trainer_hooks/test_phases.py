"""Phases of steps: added up on each rank, and held against the other ranks'."""

from trainer_hooks.phases import Phase, Phases, PhaseTimes, Spread, spreads


def spent(
    data_s: float | None, compute_s: float, save_s: float = 0.0, steps: int = 4
) -> PhaseTimes:
    """Return what a rank has spent."""
    return PhaseTimes(steps=steps, data_s=data_s, compute_s=compute_s, save_s=save_s)


def test_phases_add_up_to_the_steps_when_waits_are_told() -> None:
    """What was fetched before a step is no part of it; a save lies between steps."""
    phases = Phases()
    phases.note_wait(100.0)
    for _ in range(2):
        phases.begin_step()
        phases.note_wait(0.5)
        phases.note_wait(0.25)
        phases.end_step(2.0)
        phases.note_save(3.0)
    assert phases.times == PhaseTimes(steps=2, data_s=1.5, compute_s=2.5, save_s=6.0)


def test_waits_are_not_seen_when_nobody_tells_them() -> None:
    """That is another thing than no wait."""
    phases = Phases()
    phases.begin_step()
    phases.end_step(2.0)
    assert phases.times == PhaseTimes(steps=1, data_s=None, compute_s=2.0, save_s=0.0)


def test_slowest_rank_is_named_in_each_phase_when_ranks_differ() -> None:
    """The median is a rank's own; who does not see a phase is not counted in it."""
    found = spreads([spent(1.0, 9.0), spent(None, 7.0, steps=3), spent(2.0, 8.0)])
    assert found == [
        Spread(phase=Phase.DATA, steps=3, ranks=2, median_s=2.0, most_s=2.0, rank=2),
        Spread(phase=Phase.COMPUTE, steps=3, ranks=3, median_s=8.0, most_s=9.0, rank=0),
        Spread(phase=Phase.SAVE, steps=3, ranks=3, median_s=0.0, most_s=0.0, rank=0),
    ]


def test_phase_is_left_out_when_no_rank_sees_it() -> None:
    """Nobody takes it for none."""
    assert [one.phase for one in spreads([spent(None, 1.0)])] == [Phase.COMPUTE, Phase.SAVE]
