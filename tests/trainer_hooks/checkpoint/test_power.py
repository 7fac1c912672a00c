"""Power loss at any call of a run: what was committed is there and whole, and nothing torn is."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import HashStore

from tests.support.power import Disk, Tree, lay_out
from tests.support.training import Run
from trainer_hooks.checkpoint import commit as committing
from trainer_hooks.checkpoint import durable
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.digest import DigestingWriter
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import committed, damaged_files, latest_committed
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.checkpoint.retention import retain
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.checkpoint.turns import Turns
from trainer_hooks.world import World

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


class Machine:
    """Runs a job of one rank on a disk whose power may go, and looks at each state it may leave."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "disk" / "shared" / "run"
        (directory / "disk").mkdir()
        self._after = directory / "after"
        self.told = 0
        """The last step that the job knows to be committed."""
        self.lost: list[str] = []
        self.disk = Disk(directory / "disk", self._look)

    def run(self) -> None:
        """Save three times, keep one."""
        store: Any = HashStore()
        alone = World(rank=0, size=1, store=store, group=None)
        run = Run()
        with self.disk.watched():
            checkpointer = Checkpointer(
                self.root, alone, start_attempt(self.root), save_every_steps=1
            )
            for step in (1, 2, 3):
                run.step()
                checkpointer.save(run.state.capture(step))
                assert checkpointer.wait(None)
                if checkpointer.last_committed is not None:
                    self.told = checkpointer.last_committed.step
                    self.disk.expect_more()
                retain(self.root, Keep(last=1), lambda: True)
            checkpointer.close()

    def _look(self, tree: Tree) -> None:
        disk = lay_out(tree, self._after)
        root = disk / "shared" / "run"
        newest = latest_committed(root) if root.is_dir() else None
        if (0 if newest is None else newest.step) < self.told:
            self.lost.append(f"step {self.told} was committed, and {newest} is the newest")
        for found in committed(root) if root.is_dir() else ():
            self.lost.extend(f"{found.path}: {name}" for name in damaged_files(found))
        shutil.rmtree(disk)


def test_nothing_committed_is_lost_when_the_power_goes_at_any_call(tmp_path: Path) -> None:
    """Whatever the file system keeps of what was not synced."""
    machine = Machine(tmp_path)
    machine.run()
    print(f"power lost {machine.disk.crashes} times, {machine.disk.syncs} syncs")  # noqa: T201 - shown by -s
    assert machine.lost == []
    assert machine.told == 3
    assert machine.disk.syncs > 30
    assert machine.disk.crashes > 100
    assert [name.step for name in saves(machine.root)] == [3]


@pytest.mark.slow
@pytest.mark.parametrize("left_out", ["shards", "the directory of the marker", "the way there"])
def test_loss_is_found_when_a_sync_is_left_out(
    tmp_path: Path, left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the disk that is played here would show it."""
    if left_out == "shards":
        init = DigestingWriter.__init__

        def unsynced(writer: DigestingWriter, directory: Path, *turns: Turns) -> None:
            init(writer, directory, *turns)
            writer.sync_files = False

        monkeypatch.setattr(DigestingWriter, "__init__", unsynced)
    elif left_out == "the directory of the marker":
        monkeypatch.setattr(durable, "sync_directory", bool)
    else:
        monkeypatch.setattr(committing, "make_directory", make_unsynced)
    machine = Machine(tmp_path)
    machine.run()
    assert machine.lost


def make_unsynced(path: Path) -> None:
    """Make a directory and those above it."""
    path.mkdir(parents=True, exist_ok=True)
