"""The story: a node is taken from a running job, another comes up, and the runs are compared."""

import time
from pathlib import Path

from rehearsal.account import Account
from rehearsal.display import Display
from rehearsal.job import Job
from rehearsal.node import Node
from trainer_hooks import EXIT_PREEMPTED
from trainer_hooks.resume_check.comparison import compare, done_at, redone_steps, resumed_step
from trainer_hooks.resume_check.stage import Child, Failed, Stage

TRAINING_LIMIT_S = 600.0
"""Longest wait for a job's next milestone; on two idle cores it takes 20 s. A machine that does ten
other things is no reason to call a job lost."""

HEARING_LIMIT_S = 15.0


class Story:
    """Plays the demo and notes in the account what happens.

    Args:
        stage: Where processes run.
        display: Is told the phases.
        account: Filled in as things become known.
        out: An empty directory, for everything that is left behind.
    """

    def __init__(self, stage: Stage, display: Display, account: Account, out: Path) -> None:
        self._stage = stage
        self._display = display
        self._account = account
        self._timeline = account.timeline
        self._out = out
        self._unbroken = Job(stage, out / "unbroken", account.steps)
        self._interrupted = Job(stage, out / "interrupted", account.steps)

    def play(self) -> None:
        """Play it from beginning to end.

        Raises:
            Failed: A process does not do what it has to; the rest is not played.
        """
        self._display.phase("node-1 comes up: a simulated cloud, and the watcher")
        node = Node(self._stage, self._out / "node-1")
        self._display.phase("two runs start, of two ranks each, with the same seed")
        quiet = self._out / "unbroken" / "run"
        quiet.mkdir()
        alone = self._unbroken.launch(quiet, ends_with=0)
        self._display.follow("unbroken", self._unbroken.steps_done)
        self._preempt(node)
        self._display.phase("node-1 is gone; node-2 comes up, with an empty run directory")
        node.end()
        self._resume(Node(self._stage, self._out / "node-2"))
        self._await_end(alone)
        self._display.phase("the two runs are compared")
        self._compare()

    def _preempt(self, node: Node) -> None:
        """Start the job, and let the cloud announce in its midst that it takes the node."""
        job, timeline = self._interrupted, self._timeline
        first = job.launch(node.run_dir, ends_with=EXIT_PREEMPTED)
        self._display.follow("interrupted", job.steps_done)
        third = self._account.steps // 3

        def is_under_way() -> bool | None:
            return job.steps_done() >= third or None

        self._stage.wait(first, f"step {third}", is_under_way, TRAINING_LIMIT_S)
        window_s = self._account.window_s
        self._display.phase(f"the cloud announces that it will take node-1 in {window_s} s")
        timeline.issued = node.issue_notice(window_s)
        timeline.heard, timeline.flag_written = self._stage.wait(
            node.watcher, "the flag file", node.heard, HEARING_LIMIT_S
        )
        self._display.phase("the watcher has written the flag file; the ranks stop and commit")
        timeline.exited = self._await_end(first)
        timeline.exit_code = EXIT_PREEMPTED
        self._note_stop()

    def _note_stop(self) -> None:
        """Note at which step all ranks have stopped, and what is committed."""
        job, timeline = self._interrupted, self._timeline
        report = job.report()
        timeline.noticed, timeline.agreed = report.last("noticed"), report.last("agreed")
        timeline.saved = report.last("saved")
        if len(set(report.steps)) != 1:
            raise Failed(f"the ranks have stopped at different steps: {report.steps}", job.log)
        timeline.stop_step = report.steps[0]
        newest = job.newest_checkpoint()
        if newest is None or set(report.committed_steps) != {newest}:
            raise Failed(
                f"the ranks have committed {report.committed_steps}, on disk is {newest}", job.log
            )
        timeline.committed_step, timeline.committed = newest, job.committed_at(newest)

    def _resume(self, node: Node) -> None:
        """Start the job again, with the same command line, and let it end."""
        job, timeline = self._interrupted, self._timeline
        self._display.phase("the same command line is started again")
        timeline.restarted = time.time()
        second = job.launch(node.run_dir, ends_with=0)
        timeline.finished = self._await_end(second)
        timeline.resumed = job.report().last("began")

    def _compare(self) -> None:
        """Hold the interrupted run against the unbroken one."""
        timeline = self._timeline
        doings = self._interrupted.doings()
        timeline.steps_redone = max(map(redone_steps, doings))
        if timeline.stop_step is not None:
            timeline.resumed_step = resumed_step(doings, timeline.stop_step)
            timeline.caught_up = done_at(doings, timeline.stop_step)
        self._account.comparisons = compare(doings, self._unbroken.doings(), self._account.steps)

    def _await_end(self, child: Child) -> float:
        """Return when a process has ended as it should."""
        self._stage.wait(child, "its end", lambda: child.has_ended or None, TRAINING_LIMIT_S)
        return time.time()
