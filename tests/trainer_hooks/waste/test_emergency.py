"""Whether a save from the notice on is committed in time: theory 3.5 (2026-11-30)."""

import pytest

from trainer_hooks.waste.emergency import Save, Verdict, odds, verdict


@pytest.mark.parametrize(
    ("window", "step", "median", "chance", "within"),
    [
        (15, 2, 8, 0.781, 5e-4),
        (30, 2, 8, 0.99992, 1e-5),
        (15, 10, 8, 0.341, 5e-4),
        (30, 2, 25, 0.523, 5e-4),
        (120, 2, 60, 0.985, 5e-4),
        (110, 2, 60, 0.970, 5e-4),
        (30, 2, 60, 0.0025, 1e-4),
    ],
)
def test_odds_are_the_theorys_when_a_window_is_given(
    window: float, step: float, median: float, chance: float, within: float
) -> None:
    """Polls every 5 s, a spread of 0.3, a second for the commit."""
    save = Save(median_s=median, step_s=step, poll_s=5)
    assert odds(save, window) == pytest.approx(chance, abs=within)


def test_odds_are_none_when_there_is_no_window() -> None:
    """And without polls or steps the log-normal distribution alone decides."""
    save = Save(median_s=8, poll_s=0)
    assert odds(save, 0) == 0
    assert odds(save, 9) == 0.5


@pytest.mark.parametrize(
    ("chance", "expected"),
    [(0.9, Verdict.SAVES), (0.89, Verdict.RISKY), (0.5, Verdict.RISKY), (0.49, Verdict.INFEASIBLE)],
)
def test_verdict_is_the_trainers_own_when_it_is_given(chance: float, expected: Verdict) -> None:
    """It begins such a save at odds of 0.9."""
    assert verdict(chance) is expected
