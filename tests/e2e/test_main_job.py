"""The main job, whole: a cloud notice, a committed checkpoint, exit 75, an exact resume."""

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cloud import Node
from tests.support.history import history, steps_done
from tests.support.launching import Launch, children, launch, wait_until
from trainer_hooks import latest_committed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

TRAIN_GPT = Path(__file__).parents[2] / "examples" / "train_gpt.py"
STEPS = 40
SAVE_EVERY = 10


class GptRun:
    """The example, started again and again with one command line."""

    def __init__(self, directory: Path, *, ranks: int = 2, min_step_s: float = 0.0) -> None:
        self.directory = directory
        self.ranks = ranks
        self.checkpoints = directory / "checkpoints"
        self.log_dir = directory / "log"
        self._arguments = [
            f"--checkpoint-dir={self.checkpoints}",
            f"--log-dir={self.log_dir}",
            f"--steps={STEPS}",
            f"--save-every={SAVE_EVERY}",
            f"--min-step-s={min_step_s}",
            "--batch-size=2",
            "--always-stop",
        ]

    def start(self) -> Launch:
        """Start or resume it."""
        return launch(self.directory, TRAIN_GPT, *self._arguments, ranks=self.ranks)

    def finish(self) -> Launch:
        """Start it and see it through to its end."""
        with self.start() as running:
            assert running.wait(120) == 0, running.output
        return running

    def has_done(self, step: int, rank: int = 0) -> Callable[[], bool]:
        """Return whether a rank has done a step, in this or an earlier start."""
        path = self.log_dir / f"rank_{rank}.jsonl"
        return lambda: path.exists() and step in steps_done(self.log_dir, rank)

    def committed_step(self) -> int:
        """Return the step of the newest checkpoint, 0 without one."""
        checkpoint = latest_committed(self.checkpoints)
        return 0 if checkpoint is None else checkpoint.step

    def assert_same_as(self, other: "GptRun") -> None:
        """Compare ids, learning rates and losses of every step and rank, bitwise."""
        for rank in range(self.ranks):
            mine = history(self.log_dir, rank)
            assert len(mine) == STEPS
            assert mine == history(other.log_dir, rank)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> GptRun:
    """The uninterrupted run."""
    run = GptRun(tmp_path_factory.mktemp("straight"))
    run.finish()
    return run


@pytest.fixture
def run(tmp_path: Path) -> GptRun:
    """The run that is going to be interrupted; its steps are slow enough to hit."""
    return GptRun(tmp_path / "job", min_step_s=0.1)


@pytest.fixture
def node(run: GptRun) -> Iterator[Node]:
    """The node that ``run`` is on."""
    with Node(directory=run.directory) as node:
        yield node


def test_the_run_is_bitwise_the_same_when_two_notices_interrupt_it(
    run: GptRun, straight: GptRun
) -> None:
    """Simulator -> watcher -> flag -> stop -> commit -> 75, on two nodes one after the other."""
    for stop_after in (17, 27):  # a save has been measured by then
        with Node(directory=run.directory) as node, run.start() as running:
            wait_until(run.has_done(stop_after), f"step {stop_after}")
            node.issue_notice()
            assert running.wait() == 75, running.output
            states = {result["state"] for result in running.report["results"]}
            steps = {result["step"] for result in running.report["results"]}
            assert states == {"saved"}
            assert len(steps) == 1
            assert run.committed_step() == steps.pop()
        node.flag.unlink()  # the next node is another machine
    assert "RESUMED step=" in run.finish().output
    run.assert_same_as(straight)
    assert all(steps_done(run.log_dir, rank) == list(range(STEPS)) for rank in range(2))


@pytest.mark.slow
def test_the_run_is_bitwise_the_same_at_four_ranks(tmp_path: Path) -> None:
    """Once more at 4 ranks, where DDP adds in another order until its buckets are rebuilt."""
    straight = GptRun(tmp_path / "straight", ranks=4)
    straight.finish()
    run = GptRun(tmp_path / "job", ranks=4, min_step_s=0.1)
    with Node(directory=run.directory) as node, run.start() as running:
        wait_until(run.has_done(14), "step 14")
        node.issue_notice()
        assert running.wait() == 75, running.output
    node.flag.unlink()
    run.finish()
    run.assert_same_as(straight)


def test_a_group_wide_sigterm_ends_with_a_commit(run: GptRun, straight: GptRun) -> None:
    """SIGTERM to launcher, ranks and DataLoader workers at once, while a save is in flight."""
    with run.start() as running:
        wait_until(lambda: list(run.checkpoints.glob("step_000000010.*")), "the first save")
        os.killpg(running.process.pid, signal.SIGTERM)
        assert running.wait() == 75, running.output
    assert run.committed_step() >= 10
    run.finish()
    run.assert_same_as(straight)


@pytest.mark.slow
def test_a_group_wide_sigusr1_ends_with_a_commit(run: GptRun) -> None:
    """The same with Slurm's signal, which would kill DataLoader workers by default."""
    with run.start() as running:
        wait_until(run.has_done(17), "step 17")
        os.killpg(running.process.pid, signal.SIGUSR1)
        assert running.wait() == 75, running.output
        assert {result["step"] for result in running.report["results"]} == {run.committed_step()}


def test_sigterm_to_a_data_loader_worker_stops_nothing(run: GptRun, straight: GptRun) -> None:
    """A forked child is not the rank: the run goes on to its end."""
    with run.start() as running:
        wait_until(run.has_done(5), "step 5")
        for worker in grandchildren(running.process.pid):
            os.kill(worker, signal.SIGTERM)
        assert running.wait() == 0, running.output
    run.assert_same_as(straight)


def grandchildren(launcher: int) -> list[int]:
    """Return the pids of the DataLoader workers: the children of the launcher's ranks."""
    workers = [child for rank in children(launcher) for child in children(rank)]
    assert len(workers) >= 2
    return workers


def kill_at_random(run: GptRun, node: Node, seed: int) -> None:
    """SIGKILL the launcher, the watcher, a rank, or both ranks, at a random step."""
    choose = random.Random(seed)  # noqa: S311 - a test's choice
    victim = ("launcher", "watcher", "rank", "ranks")[seed % 4]
    step = choose.randrange(1, STEPS - 5)
    with run.start() as running:
        wait_until(run.has_done(step), f"step {step}")
        match victim:
            case "launcher":
                running.process.kill()
                wait_until(lambda: not run_is_alive(run), "orphaned ranks to leave")
                assert STEPS - 1 not in steps_done(run.log_dir, 0), "the orphans trained on"
            case "watcher":
                node.kill_watcher()
                node.start_watcher()
                node.issue_notice()
                # A watcher takes its time to start: the notice may find the run at its end.
                code = running.wait()
                assert code == (0 if run.committed_step() == STEPS else 75), running.output
            case "rank":
                os.kill(choose.choice(children(running.process.pid)), signal.SIGKILL)
                assert running.wait() == 128 + signal.SIGKILL, running.output
            case "ranks":
                for rank in children(running.process.pid):
                    os.kill(rank, signal.SIGKILL)
                assert running.wait() == 128 + signal.SIGKILL, running.output


def run_is_alive(run: GptRun) -> bool:
    """Tell whether any process still has this run's checkpoint directory on its command line."""
    needle = str(run.checkpoints).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if needle in (entry / "cmdline").read_bytes():
                    return True
            except OSError:
                continue
    return False


@pytest.mark.parametrize("seed", range(6))
def test_the_run_is_bitwise_the_same_when_something_is_killed(
    run: GptRun, node: Node, straight: GptRun, seed: int
) -> None:
    """Six random kills; the seed is in the test's name."""
    kill_at_random(run, node, seed)
    node.kill_watcher()  # it would put its flag back: the next node is another machine
    node.flag.unlink(missing_ok=True)
    before = run.committed_step()
    run.finish()
    run.assert_same_as(straight)
    redone = sorted(steps_done(run.log_dir, 0))
    assert len(redone) - STEPS <= 2 * SAVE_EVERY
    assert before >= (len(redone) - STEPS) - 2 * SAVE_EVERY


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_the_run_is_bitwise_the_same_when_something_is_killed_often(
    run: GptRun, node: Node, straight: GptRun, seed: int
) -> None:
    """Fifty random kills."""
    kill_at_random(run, node, seed)
    node.kill_watcher()  # it would put its flag back: the next node is another machine
    node.flag.unlink(missing_ok=True)
    run.finish()
    run.assert_same_as(straight)
