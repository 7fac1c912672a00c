"""The ledger that a run keeps, over real starts in a world of one."""

import itertools
import os
import time
from pathlib import Path

import pytest

from tests.support.flags import remove_flag
from tests.support.node import Node, at
from tests.support.planned import planned
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from tests.support.training import Run
from trainer_hooks import recorder
from trainer_hooks.flag import ROLL_BACK, StopNotice
from trainer_hooks.phases import Phase
from trainer_hooks.recorder import NODES_VARIABLE, Recorder
from trainer_hooks.telling import IN_DRILL
from trainer_hooks.waste.account import Kind, account, timeline
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.heard import Urgency
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.records import Outcome, Part

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


class BugError(Exception):
    """The program has a bug."""


def notice(notice_id: str, *, is_stop: bool = True) -> StopNotice:
    """Return a notice that was heard of."""
    return StopNotice(id=notice_id, is_stop=is_stop, deadline_s=None, source="flag:aws_imds")


def fail() -> None:
    """Meet the bug."""
    raise BugError


def interrupt() -> None:
    """Stop by hand."""
    raise KeyboardInterrupt


def steps_of(attempt: Attempt) -> list[int]:
    """Return the steps that an attempt has finished."""
    return [step for steps in attempt.steps for step in range(steps.first, steps.end)]


def test_run_is_on_record_when_it_was_preempted_and_resumed(node: Node) -> None:
    """What it began with, every step, save, commit and notice, and how it left."""
    node.train(Run(), until=9, in_step=at(4, node.settled_notice))
    remove_flag(node.run_dir)
    node.train(Run(), until=9)
    first, second = read_ledger(node.checkpoints)
    assert [first.begin.attempt, second.begin.attempt] == [1, 2]
    assert (first.begin.gpus, first.begin.nodes, first.begin.resumed_step) == (1, 1, 0)
    assert [part.part for part in first.parts] == [Part.RENDEZVOUS, Part.LOAD]
    assert steps_of(first) == [0, 1, 2, 3, 4]
    assert [save.step for save in first.saves] == [3, 5]
    assert [commit.step for commit in first.commits] == [3, 5]
    assert len(first.notices) == 1
    assert first.end is not None
    assert (first.end.outcome, first.end.step) == (Outcome.PREEMPTED, 5)
    assert second.begin.resumed_step == first.kept_steps == 5
    assert steps_of(second) == [5, 6, 7, 8]
    assert [commit.step for commit in second.commits] == [6, 9]
    assert second.end is not None
    assert (second.end.outcome, second.end.step) == (Outcome.FINISHED, 9)


def test_part_is_on_record_when_the_starter_has_told_it(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to where the process began, whatever it says."""
    now = time.time()
    monkeypatch.setenv("REPRIEVE_RESTART_PARTS", f"waiting={now - 1e6}:{now + 1e6},nonsense")
    node.train(Run(), until=3)
    (attempt,) = read_ledger(node.checkpoints)
    told = attempt.parts[-1]
    assert (told.part, told.began, told.ended) == (Part.WAITING, now - 1e6, attempt.begin.at)


def test_time_is_in_order_when_a_run_is_on_record(node: Node) -> None:
    """From the process's begin over the load to the last commit, without a second unnamed."""
    node.train(Run(), until=6)
    (attempt,) = read_ledger(node.checkpoints)
    met, loaded = attempt.parts
    first = attempt.steps[0]
    assert attempt.begin.at < met.began <= met.ended == loaded.began <= loaded.ended <= first.began
    assert attempt.steps[-1].ended <= attempt.saves[-1].began
    assert attempt.saves[-1].ended <= attempt.commits[-1].at <= attempt.last_at
    accounts = account(timeline([attempt]))
    assert accounts.paid == pytest.approx(attempt.last_at - attempt.begin.at, rel=1e-9)
    assert accounts.kinds[Kind.REWORK] == 0


def test_rework_is_on_record_when_a_step_was_lost(node: Node) -> None:
    """Steps 3 and 4, by a bug after the save of 3."""
    with pytest.raises(BugError):
        node.train(Run(), until=9, in_step=at(5, fail))
    node.train(Run(), until=6)
    first, second = read_ledger(node.checkpoints)
    assert first.end is not None
    assert first.end.outcome is Outcome.FAILED
    assert (first.kept_steps, second.begin.resumed_step) == (3, 3)
    accounts = account(timeline([first, second]))
    lost = [steps for steps in first.steps if steps.first >= 3]
    assert [(steps.first, steps.end) for steps in lost] == [(3, 5)]
    lost_s = sum(steps.ended - steps.began for steps in lost)
    assert accounts.kinds[Kind.REWORK] == pytest.approx(lost_s, rel=1e-6)


def test_phases_are_on_record_when_a_run_has_ended(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all its steps and saves; each record holds what the one before it held."""
    monkeypatch.setattr(recorder, "PHASES_EVERY_S", 0.0)
    node.train(Run(), until=7)
    (attempt,) = read_ledger(node.checkpoints)
    assert set(attempt.phases) == {Phase.COMPUTE, Phase.SAVE}  # it takes no batches from us
    assert {spent.steps for spent in attempt.phases.values()} == {7}
    steps_s = sum(steps.ended - steps.began for steps in attempt.steps)
    assert attempt.phases[Phase.COMPUTE].median_s <= steps_s
    saved_s = sum(save.ended - save.began for save in attempt.saves)
    assert attempt.phases[Phase.SAVE].most_s == pytest.approx(saved_s, abs=1e-4)
    [path] = (node.checkpoints / FOLDER).iterdir()
    assert path.read_text().count('"what":"phase"') == 2 * 8


def test_end_is_a_persons_when_it_was_stopped_by_hand(node: Node) -> None:
    """It says nothing of M."""
    with pytest.raises(KeyboardInterrupt):
        node.train(Run(), until=9, in_step=at(4, interrupt))
    (attempt,) = read_ledger(node.checkpoints)
    assert attempt.end is not None
    assert attempt.end.outcome is Outcome.STOPPED


def test_end_is_a_drills_when_nothing_else_was_behind_it(node: Node) -> None:
    """It says nothing of M either."""
    node.train(Run(), until=9, in_step=at(4, lambda: node.notice(drill=True)))
    (attempt,) = read_ledger(node.checkpoints)
    assert attempt.end is not None
    assert attempt.end.outcome is Outcome.DRILLED


@pytest.mark.parametrize(
    ("told", "outcome"), [("1", Outcome.DRILLED), ("0", Outcome.PREEMPTED), ("", Outcome.PREEMPTED)]
)
def test_end_is_a_drills_when_the_whole_node_is_simulated(
    node: Node, monkeypatch: pytest.MonkeyPatch, told: str, outcome: Outcome
) -> None:
    """Its notice is as real as any to the run, which stops as on any: only the ledger differs."""
    monkeypatch.setenv(IN_DRILL, told)
    node.train(Run(), until=9, in_step=at(4, node.notice))
    (attempt,) = read_ledger(node.checkpoints)
    assert attempt.end is not None
    assert attempt.end.outcome is outcome


def test_training_is_the_same_when_no_ledger_can_be_written(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning."""
    node.checkpoints.mkdir()
    (node.checkpoints / FOLDER).write_text("in the way")
    assert node.train(Run(), until=6).is_finished
    assert node.committed == [3, 6]
    assert caplog.text.count("so what this run wastes is not known") == 1


def test_report_is_made_when_a_run_has_left_its_ledger(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command that users have."""
    node.train(Run(), until=9)
    report = planned(capsys, "report", str(node.checkpoints))
    assert (report["steps"], report["starts"], report["interruptions"]) == (9, 1, [])
    assert report["checkpoints"]["commits"] == 3
    assert 0 < report["goodput"] < 1


@pytest.mark.parametrize(("told", "nodes"), [("8", 8), ("0", 1), ("many", 1)])
def test_nodes_are_torchruns_when_it_has_told_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, nodes: int
) -> None:
    """Else there is one."""
    monkeypatch.setenv(NODES_VARIABLE, told)
    recorder = Recorder()
    recorder.open(tmp_path, (1, "5f3c"), ranks=64, resumed_step=0)
    recorder.close(Outcome.FINISHED, 0)
    (attempt,) = read_ledger(tmp_path)
    assert (attempt.begin.nodes, attempt.begin.gpus) == (nodes, 64)


def test_nothing_is_noted_when_the_record_is_closed(tmp_path: Path) -> None:
    """Nor before it is opened: other ranks call all of it too."""
    recorder = Recorder()
    for _ in range(2):
        recorder.note_step_begun()
        recorder.note_step(0)
        recorder.note_save(1, recorder.now(), 0.0)
        recorder.note_commit(1)
        recorder.note_notice(notice("n-1"))
        recorder.close(Outcome.FINISHED, 1)
    assert not list(tmp_path.iterdir())


def test_newest_stop_notice_is_known_when_advice_came_before_it() -> None:
    """For the watcher, which measures how soon it was heard; each counts from its first word."""
    clock = itertools.count(100.0)
    recorder = Recorder(lambda: next(clock))
    recorder.note_notice(notice("advice", is_stop=False))
    assert recorder.stop_heard_at is None
    heard_at: list[float | None] = []
    for name in ("stop-1", "stop-1", "stop-2"):
        recorder.note_notice(notice(name))
        heard_at.append(recorder.stop_heard_at)
    assert heard_at[0] == heard_at[1] != heard_at[2]


def test_each_notice_is_noted_once_when_all_ranks_stop_for_those_of_other_nodes(
    tmp_path: Path,
) -> None:
    """Only rank 0 keeps the ledger, and the node that goes need not be its own."""
    recorder = Recorder()
    recorder.open(tmp_path, (1, "5f3c"), ranks=2, resumed_step=0)
    recorder.note_notice(notice("n-1", is_stop=False))
    recorder.note_notice(notice("n-1"))
    recorder.note_causes(["n-1", "n-2", f"{ROLL_BACK}7"])
    recorder.note_notice(notice("n-1", is_stop=False))
    recorder.close(Outcome.PREEMPTED, 0)
    (attempt,) = read_ledger(tmp_path)
    assert [(one.id, one.urgency) for one in attempt.notices] == [
        ("n-1", Urgency.ADVISORY),
        ("n-1", Urgency.STOP),
        ("n-2", Urgency.STOP),
    ]


@pytest.mark.parametrize("load_s", [0.0, 100.0])
def test_process_start_is_the_attempts_when_the_kernel_says_it(
    tmp_path: Path, load_s: float
) -> None:
    """Imports and the model are part of the restart; however long it takes to load a checkpoint."""
    clock = itertools.chain([0.0] * 4, itertools.repeat(load_s))
    recorder = Recorder(lambda: next(clock))
    recorder.open(tmp_path, (1, "5f3c"), ranks=1, resumed_step=0)
    now = recorder.now()
    recorder.close(Outcome.FINISHED, 0)
    (attempt,) = read_ledger(tmp_path)
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    age_s = uptime_s - ticks / os.sysconf("SC_CLK_TCK")
    assert now - attempt.begin.at == pytest.approx(age_s, abs=5)


@pytest.mark.ranks
def test_one_rank_keeps_the_record_when_there_are_two(tmp_path: Path) -> None:
    """For both: two devices are paid."""
    tiny = Tiny(checkpoint_dir=tmp_path / "save", log_dir=tmp_path, steps=20)
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    (attempt,) = read_ledger(tmp_path / "save")
    assert attempt.begin.gpus == 2
    assert steps_of(attempt) == list(range(20))
    assert attempt.torn_lines == 0
