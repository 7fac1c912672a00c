"""Figures that the training tells: looked at as they were, and refused where they are none."""

import threading
from fractions import Fraction

import pytest
import torch

from tests.trainer_hooks.health.test_desk import worlds
from trainer_hooks.health.desk import Desk
from trainer_hooks.health.figures import Figures
from trainer_hooks.health.finding import Finding, Guard


class Watch:
    """One rank's look at its figures, and what came of it."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.desk = Desk(worlds()[0], self.found.append)
        self.figures = Figures(self.desk)
        self.desk.start()

    def settle(self) -> None:
        """Wait until the desk has done all, and has looked."""
        done = threading.Event()
        self.desk.put_last(lambda _: done.set())
        assert done.wait(20.0)
        self.desk.close()


@pytest.mark.parametrize(
    "wrong",
    [torch.ones(8), torch.tensor([]), torch.tensor(1j), "loss", [1.0], {"loss": 1.0}, 10**400],
    ids=lambda wrong: type(wrong).__name__,
)
def test_figure_is_left_out_with_one_warning_when_it_is_no_number(
    wrong: object, caplog: pytest.LogCaptureFixture
) -> None:
    """The guards see all else as before: one mistake does not end them."""
    watch = Watch()
    for step in range(3):
        watch.figures.see(step, {Guard.LOSS: wrong})  # type: ignore[dict-item]  # that is the point
    watch.figures.see(3, {Guard.GRAD_NORM: float("nan")})
    watch.settle()
    assert [(found.guard, found.step) for found in watch.found] == [(Guard.GRAD_NORM, 3)]
    assert caplog.text.count("takes one real number") == 1
    assert "see nothing any more" not in caplog.text


@pytest.mark.parametrize(
    "right", [1, 2.5, torch.tensor(3.0), torch.ones(1, 1), torch.tensor(2), True, Fraction(1, 3)]
)
def test_figure_is_looked_at_when_it_is_one_number(
    right: object, caplog: pytest.LogCaptureFixture
) -> None:
    """Of whatever type."""
    watch = Watch()
    watch.figures.see(0, {Guard.LOSS: right})  # type: ignore[dict-item]  # as above
    watch.settle()
    assert watch.found == []
    assert caplog.text == ""
