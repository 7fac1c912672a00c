"""What checkpoints ask of the storage: theory part 5 and X21 (2026-11-30)."""

from trainer_hooks.waste.storage import WEEK_S, state_bytes, sustained_bytes_per_s


def test_state_of_seventy_billion_parameters_is_a_terabyte_when_it_is_mixed_precision() -> None:
    """70e9 * 14 = 9.8e11 B, 0.891305 TiB."""
    assert state_bytes(70e9) == 9.8e11
    assert f"{state_bytes(70e9) / 2**40:.6g}" == "0.891305"


def test_storage_takes_five_gigabytes_a_second_when_that_state_is_saved_every_three_minutes() -> (
    None
):
    """5.09 GB/s, 3.08 PB a week."""
    rate = sustained_bytes_per_s(0.98e12, 184.441, 8)
    assert f"{rate / 1e9:.3g} {rate * WEEK_S / 1e15:.3g}" == "5.09 3.08"
