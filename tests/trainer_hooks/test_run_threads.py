"""What two threads of one rank hear at the same time: a stop, and that it is withdrawn."""

import threading

import pytest

from tests.support.node import Node, at
from tests.support.training import Run
from trainer_hooks.clock import boottime_s
from trainer_hooks.decision import Decision, Outcome
from trainer_hooks.saves import Saves

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def test_run_has_no_deadline_when_one_thread_is_slow_to_hear_of_the_withdrawal(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has looked before: what it does then may not come after what the withdrawal undid."""
    looked, go_on = threading.Event(), threading.Event()
    hurry = Saves.hurry

    def hear() -> None:
        assert node.hooks is not None
        node.hooks._run._on_stop()

    slow, withdrawn = threading.Thread(target=hear), threading.Thread(target=hear)

    def hurry_slowly(saves: Saves, *, is_hurried: bool) -> None:
        hurry(saves, is_hurried=is_hurried)
        if threading.current_thread() is slow:
            looked.set()
            assert go_on.wait(20)

    def hear_both() -> None:
        assert node.hooks is not None
        run = node.hooks._run
        run.agreement._decided.stop = Decision(outcome=Outcome.END, left_s=100.0)
        run.agreement._decided.deadline_s = boottime_s() + 100
        slow.start()
        assert looked.wait(20)
        run.agreement._decided.stop = None
        withdrawn.start()
        withdrawn.join(timeout=0.2)  # it would be done by now if it did not wait its turn
        go_on.set()
        slow.join()
        withdrawn.join()
        deadlines.append(run.guard.deadline_s)

    deadlines: list[float | None] = []
    monkeypatch.setattr(Saves, "hurry", hurry_slowly)
    node.train(Run(), in_step=at(2, hear_both))
    assert deadlines == [None]
