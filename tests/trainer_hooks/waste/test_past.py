"""What a start learns of those before it."""

from pathlib import Path

import pytest

from tests.support.ledgers import begin, example, write
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.past import NOTHING, Past, earlier
from trainer_hooks.waste.records import Committed, Record, Saved, Steps

PATIENCE_S = 20.0


def test_past_is_what_was_measured_when_a_start_follows(tmp_path: Path) -> None:
    """The last attempt before it counts as interrupted, though its record has no end."""
    example(tmp_path)
    found = Past(tmp_path, begin(4, 9000.0)).get(PATIENCE_S)
    assert found is not None
    assert [up.is_interrupted for up in found.history.uptimes] == [True, True, False]
    assert found.history.stalls_s == (2, 3)
    assert found.history.lags_s == (6, 4)


def test_past_is_empty_when_a_run_is_new(tmp_path: Path) -> None:
    """Without a word in the log."""
    assert Past(tmp_path, begin(1, 1000.0)).get(PATIENCE_S) == NOTHING


def test_past_is_empty_when_its_record_is_no_file_of_ours(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning: what is unknown costs a choice and no run."""
    example(tmp_path)
    (tmp_path / FOLDER / "a2-5f3c.jsonl").unlink()
    (tmp_path / FOLDER / "a2-5f3c.jsonl").symlink_to(tmp_path / FOLDER / "a1-5f3c.jsonl")
    assert Past(tmp_path, begin(4, 9000.0)).get(PATIENCE_S) == NOTHING
    assert "what earlier starts have measured is not known" in caplog.text


def test_start_itself_is_no_past_when_its_record_is_there_already(tmp_path: Path) -> None:
    """Nor is a later one, of whoever has taken it for dead."""
    run: list[Record] = [
        begin(1, 1000.0),
        Steps(first=0, end=1, began=1000, ended=1009),
        Steps(first=1, end=11, began=1009, ended=1029),
        Saved(step=11, began=1029, ended=1030, waited_s=0.25),
    ]
    write(tmp_path, run, [begin(2, 1100.0, 11)], [begin(3, 1200.0, 11)])
    found = Past(tmp_path, begin(2, 1100.0, 11)).get(PATIENCE_S)
    assert found is not None
    assert [(up.running_s, up.is_interrupted) for up in found.history.uptimes] == [(29, True)]
    assert found.history.stalls_s == (0.75,)
    assert found.step_s == 2.0


def test_past_is_scaled_when_the_job_has_another_size(tmp_path: Path) -> None:
    """Twice the nodes are interrupted twice as often; what saves took at another size is left
    out, once there are some of this.
    """
    steps = [Steps(first=0, end=9, began=1000, ended=1100)]
    small: list[Record] = [begin(1, 1000.0, gpus=8), *steps, Saved(step=9, began=1100, ended=1101)]
    large: list[Record] = [
        begin(2, 2000.0, gpus=16),
        Steps(first=0, end=9, began=2000, ended=2040),
        Saved(step=9, began=2040, ended=2045),
        Committed(step=9, at=2047),
    ]
    write(tmp_path, small, large)
    again = Past(tmp_path, begin(3, 3000.0, gpus=16)).get(PATIENCE_S)
    assert again is not None
    assert [up.running_s for up in again.history.uptimes] == [50, 40]
    assert (again.history.stalls_s, again.history.lags_s) == ((5,), (2,))
    other = Past(tmp_path, begin(3, 3000.0, gpus=4)).get(PATIENCE_S)
    assert other is not None
    assert [up.running_s for up in other.history.uptimes] == [200, 160]
    assert other.history.stalls_s == (1, 5)


def test_step_time_is_unknown_when_no_start_came_beyond_its_first_step() -> None:
    """Which takes longer than any other."""
    assert earlier((), begin(1, 1000.0)).step_s is None
