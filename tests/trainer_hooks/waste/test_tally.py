"""The tally of a run under way: what earlier attempts have spent, and this one so far."""

import os
from pathlib import Path

import pytest

from tests.support.ledgers import DRAWN, begin, example
from tests.support.waiting import wait_until
from trainer_hooks.waste.account import Kind, account, timeline
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.tally import Spending, Tally


@pytest.mark.parametrize("is_paused", [True, False])
def test_tally_goes_on_where_the_ledger_ends(tmp_path: Path, *, is_paused: bool) -> None:
    """What is paid and has lasted by the account of the whole run, with two steps of this one.

    The third attempt has finished at 1620, and nobody pays until the fourth begins. Had it been
    killed after its commit at 1618, two GPUs would wait for the fourth.
    """
    attempts = example(tmp_path)
    if not is_paused:
        third = tmp_path / FOLDER / f"a3-{DRAWN}.jsonl"
        third.write_text("".join(third.read_text().splitlines(keepends=True)[:-1]))
        attempts = read_ledger(tmp_path)
    now = begin(4, 1700, resumed_step=20, gpus=2)
    tally = Tally(tmp_path, now)
    wait_until(lambda: tally.at(1700))
    tally.note_step(10)
    tally.note_step(10)
    attempts[-1].kept_steps = 20
    before = account(timeline(attempts))
    spent = tally.at(1730)
    assert spent is not None
    away_s = 0 if is_paused else 1700 - 1618
    assert spent.paid == pytest.approx(before.paid + away_s * 2 + 30 * 2)
    assert spent.productive == pytest.approx(before.kinds[Kind.PRODUCTIVE] + 20 * 2)


def test_steps_are_no_longer_productive_when_this_attempt_has_begun_before_them(
    tmp_path: Path,
) -> None:
    """Steps 20 to 30 of the third attempt are lost with its last checkpoint."""
    attempts = example(tmp_path)
    lost = Tally(tmp_path, begin(4, 1700, resumed_step=20))
    kept = Tally(tmp_path, begin(4, 1700, resumed_step=30))
    wait_until(lambda: lost.at(1700) and kept.at(1700))
    seconds = sum(steps.ended - steps.began for steps in attempts[-1].steps)
    with_them, without = kept.at(1700), lost.at(1700)
    assert with_them is not None
    assert without is not None
    assert with_them.paid == without.paid
    assert with_them.productive - without.productive == pytest.approx(seconds * 4)


def test_tally_begins_at_nothing_when_no_attempt_was_made_before(tmp_path: Path) -> None:
    """The first attempt's own record may be there or not."""
    tally = Tally(tmp_path, begin(1, 100, gpus=4))
    wait_until(lambda: tally.at(100))
    assert tally.at(110) == Spending(paid=40, productive=0)


def test_nothing_is_told_when_the_past_can_not_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Half of the cost would look like a good run."""
    example(tmp_path)
    (tmp_path / FOLDER / "a9-5f3c.jsonl").symlink_to(os.devnull)
    tally = Tally(tmp_path, begin(10, 1700))
    wait_until(lambda: "not known" in caplog.text)
    assert tally.at(1700) is None
