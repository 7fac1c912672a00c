"""Parts of a restart, as whoever starts the job has told them."""

import pytest

from trainer_hooks.waste.records import Part, Spent
from trainer_hooks.waste.told_parts import TOLD, told_parts


def test_parts_are_read_when_they_were_told() -> None:
    """Each with its instants, cut off where the process began; what came after is measured."""
    text = "waiting=1000:1300, pull=1300:1360.5,schedule=1355:9999,detect=9999:10000,"
    assert told_parts(text, until=1400) == (
        Spent(part=Part.WAITING, began=1000, ended=1300),
        Spent(part=Part.PULL, began=1300, ended=1360.5),
        Spent(part=Part.SCHEDULE, began=1355, ended=1400),
    )
    assert told_parts("", until=1400) == ()
    assert len(told_parts(",".join(f"{part}=1:2" for part in TOLD), until=5)) == len(TOLD)


@pytest.mark.parametrize(
    "wrong",
    [
        "load=1:2",
        "pull",
        "pull=1",
        "pull=2:1",
        "pull=nan:2",
        "pull=1:inf",
        "pull=-1:2",
        "x\x1b=1:2",
    ],
)
def test_part_is_left_out_with_a_warning_when_it_is_none(
    wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The others count."""
    told = told_parts(f"{wrong},pull=3:4", until=5)
    assert told == (Spent(part=Part.PULL, began=3, ended=4),)
    assert "is no part, such as pull=" in caplog.text
    assert "\x1b" not in caplog.text


def test_text_is_cut_when_it_is_endless(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody writes that much."""
    assert len(told_parts("pull=1:2," * 100_000, until=5)) < 1000
    assert caplog.text.count("is no part") <= 1
