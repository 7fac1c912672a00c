"""A second place for checkpoints: theory 3.3 and part 5 (2026-11-30)."""

import pytest

from trainer_hooks.waste.levels import pair_loss_probability, two_levels


def test_local_level_is_useless_when_reclaims_come_as_often_as_crashes() -> None:
    """Two levels (1, 1/20000, 8, 1/2250) -> 200, 189.737, overhead .0943274."""
    levels = two_levels(local_stall_s=1, soft_mtbi_s=20_000, durable_stall_s=8, hard_mtbi_s=2250)
    assert f"{levels.local_s:.6g} {levels.durable_s:.6g}" == "200 189.737"
    assert f"{levels.overhead:.6g}" == "0.0943274"
    assert not levels.is_local_useful


def test_local_level_is_useful_when_durable_saves_are_dear() -> None:
    """245 s of stall: every 1050 s."""
    levels = two_levels(local_stall_s=1, soft_mtbi_s=20_000, durable_stall_s=245, hard_mtbi_s=2250)
    assert levels.durable_s == 1050
    assert levels.is_local_useful


@pytest.mark.parametrize(
    ("lost", "chance"), [(1, 0), (2, 0.0158730), (4, 0.0944575), (8, 0.391644), (16, 0.919365)]
)
def test_pair_is_lost_more_often_when_a_burst_takes_more(lost: int, chance: float) -> None:
    """Of 64 nodes in 32 pairs."""
    assert float(f"{pair_loss_probability(64, lost):.6g}") == chance


def test_pair_is_lost_for_certain_when_more_than_half_the_nodes_go() -> None:
    """33 of 64."""
    assert pair_loss_probability(64, 33) == 1
