"""What a run keeps, gives up and holds on to, over several starts in a world of one."""

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.support.flags import remove_flag
from tests.support.node import Node, at
from tests.support.training import Run
from trainer_hooks import Keep, TrainerHooks
from trainer_hooks.checkpoint import saver
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.auto import AutoInterval

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


class CrashError(Exception):
    """The program has a bug, or the node died."""


def crash(*_: object) -> None:
    """Die in a step."""
    raise CrashError


def misuse() -> None:
    """Use the hooks in a way that makes no sense."""
    raise ConfigError


def interrupt() -> None:
    """Stop by hand."""
    raise KeyboardInterrupt


def test_oldest_are_deleted_when_a_run_keeps_only_some(node: Node) -> None:
    """By the time the run has ended."""
    node.train(Run(), until=12, keep=2)
    assert node.committed == [9, 12]


@pytest.mark.parametrize(("save_every", "first"), [(3, 3), (AutoInterval(), 10)])
def test_fresh_start_is_said_when_there_is_no_checkpoint(
    node: Node, caplog: pytest.LogCaptureFixture, save_every: int | AutoInterval, first: int
) -> None:
    """Where, and when there will be one: a mistyped directory would go unseen until then."""
    caplog.set_level(logging.INFO, "trainer_hooks.saves")
    node.train(Run(), until=12, save_every=save_every)
    assert f"FRESH START in {node.checkpoints}, first save at step {first}" in caplog.text
    caplog.clear()
    node.train(Run(), until=14, save_every=save_every)
    assert "FRESH START" not in caplog.text


def test_all_are_kept_when_nobody_has_said_otherwise(node: Node) -> None:
    """Nothing of anybody is deleted without being asked for."""
    node.train(Run(), until=12)
    assert node.committed == [3, 6, 9, 12]


def test_checkpoint_resumed_from_is_kept_when_newer_ones_push_it_out(node: Node) -> None:
    """As long as the attempt runs that has resumed from it."""
    node.train(Run(), until=6, keep=1)
    assert node.committed == [6]
    node.train(Run(), until=15, keep=Keep(last=1))
    assert node.committed == [6, 15]
    node.train(Run(), until=18, keep=1)
    assert node.committed == [15, 18]


def test_leftover_of_a_crash_is_swept_when_the_next_attempt_has_committed(node: Node) -> None:
    """By our own word that it was ours."""
    node.train(Run(), until=3)
    names_before = saves(node.checkpoints)
    (node.checkpoints / Mark.UNFINISHED / "step_000000099.a1-aaaa").touch()
    (node.checkpoints / "step_000000099.a1-aaaa" / "state").mkdir(parents=True)
    node.train(Run(), until=6, keep=5)
    assert [name.step for name in saves(node.checkpoints)] == [6, 3]
    assert names_before[0] in saves(node.checkpoints)
    assert names_with(node.checkpoints, Mark.UNFINISHED) == set()


def test_nothing_is_deleted_when_a_stop_is_in_force(node: Node) -> None:
    """Time is short; it is done when the job goes on."""
    node.train(Run(), until=3)
    node.train(Run(), until=9, keep=1, in_step=at(4, node.settled_notice))
    assert node.committed == [3, 5]
    remove_flag(node.run_dir)
    node.train(Run(), until=9, keep=1)
    assert node.committed == [5, 9]


def test_checkpoint_before_is_taken_when_three_attempts_have_died(node: Node) -> None:
    """Without a commit; a preemption, Ctrl-C and a misuse in between are no crashes."""
    node.train(Run(), until=6)

    def unsaved_notice() -> None:
        node.measure(500.0)
        node.notice(left_s=60.0)

    for _ in range(2):
        with pytest.raises(CrashError):
            node.train(Run(), until=9, in_step=at(6, crash))
    assert node.train(Run(), until=9, in_step=at(6, unsaved_notice)).is_preempted
    remove_flag(node.run_dir)
    assert node.committed == [3, 6]
    ends = [(KeyboardInterrupt, interrupt), (ConfigError, misuse), *[(CrashError, crash)] * 3]
    for error, stop in ends:
        with pytest.raises(error):
            node.train(Run(), until=20, in_step=at(6, stop))
    assert node.committed == [3, 6]
    begun = list[int]()

    def begin(step: int) -> None:
        begun.append(step)
        crash()

    with pytest.raises(CrashError):
        node.train(Run(), until=20, in_step=begin)
    assert begun == [3]


def test_it_is_said_once_more_when_a_run_ends_in_saves_that_failed(
    node: Node, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where there was one: what is last in the log is read, and the outcome has it too."""
    node.train(Run(), until=3)
    monkeypatch.setattr(saver, "write_manifest", crash)
    with pytest.raises(CrashError):
        node.train(Run(), until=20, in_step=at(7, crash))
    assert caplog.messages[-1].startswith(
        "NO SAVE COMMITTED since step=3: the last one, of step 6, has failed: rank 0: "
    )
    assert node.hooks is not None
    assert node.hooks.outcome.failed_saves == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"save_every": 0}, "save_every counts steps"),
        ({"checkpoint_dir": "ftp://host/run"}, "is in no store that is known"),
        ({"checkpoint_dir": Path("s3://bucket/run")}, "was a URL before it became a Path"),
        ({"keep": 0}, "at least the last checkpoint is kept"),
        ({"writers_at_once": 0}, "writers_at_once counts ranks, or is None: 0"),
        ({"verify": "some"}, r"verify is one of \['sizes', 'all'\], not 'some'"),
    ],
)
def test_options_are_refused_when_they_make_no_sense(
    tmp_path: Path, options: dict[str, Any], why: str
) -> None:
    """Before anything begins."""
    with pytest.raises(ConfigError, match=why):
        TrainerHooks(
            Run().state,
            **{"checkpoint_dir": tmp_path, "save_every": 3, "exit_on_preempt": False, **options},
        )
