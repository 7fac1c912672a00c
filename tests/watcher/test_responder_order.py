"""Flag file and signal come first and in one order, whatever hinders everything else."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.faults import Garbage, Trouble, What
from tests.fakes.kube.refusals import busy, forbidden, internal, timed_out
from tests.support.clocks import TurnedClock, eventually
from tests.support.hanging_server import hanging_server
from tests.support.node_actions import NodeActions, node_actions
from tests.support.own_node import NODE
from tests.support.responding import Desk, Recorded, running
from watcher.actions import reserved_draft, state_file
from watcher.actions.aside import Aside
from watcher.actions.base import Action
from watcher.actions.drain import Drain
from watcher.actions.state_file import STATE_NAME, StateFile
from watcher.actions.trainer_look import TrainerLook
from watcher.actions.webhook import Webhook
from watcher.actions.webhook_config import WebhookConfig
from watcher.config import DrainConfig
from watcher.metrics import Metrics
from watcher.notice import Notice, Standing
from watcher.state import State

LOCAL = ("flag_file", "signal")
ON_NODE = ("node_mark", "cordon", "taint", "lb_exclusion", "drain")

FAULTS: dict[str, What] = {
    "hang": Trouble.HANG,
    "reset": Trouble.RESET,
    "403": forbidden(),
    "429": busy(),
    "500": internal("etcd"),
    "504": timed_out(),
    "garbage": Garbage(b"<html>"),
}
HINDRANCES = [*FAULTS, "away", "token", "slow disk", "all"]


class Noted(Recorded):
    """Notes when it is done, and what was done before it."""

    def __init__(self, name: str, tell: Callable[[str], None]) -> None:
        super().__init__(name)
        self._tell = tell

    async def run(self, standing: Standing, /) -> str:
        """Note it."""
        self._tell(self.name)
        return await super().run(standing)


class Kept(Desk):
    """Answers notices, and keeps a state file as the daemon does."""

    def __init__(self, clock: TurnedClock, *actions: Action, state: State, run_dir: Path) -> None:
        self._file = StateFile(run_dir, "boot-1", state, ["test"])
        super().__init__(clock, *actions, state=state)

    async def _keep(self, notice: Notice) -> None:
        await self._file.keep(notice)


class Scene:
    """A node whose notices are answered, and what hinders that; its webhook hangs all the time."""

    def __init__(self, at: NodeActions, run_dir: Path, clock: TurnedClock, hook: str) -> None:
        self.at, self.run_dir, self.clock = at, run_dir, clock
        self.order = list[str]()
        look = TrainerLook(run_dir, at.desk.boot_id)
        drain = Drain(at.desk, at.own.client, look, DrainConfig(), clock)
        local = [Noted(name, self._note_done) for name in LOCAL]
        self.aside = Aside("webhook", Webhook(WebhookConfig(url=hook), NODE), Metrics(), clock)
        actions = (*local, *at.all, drain, self.aside)
        self.desk = Kept(clock, *actions, state=at.state, run_dir=run_dir)
        self.disk = threading.Event()
        self.disk.set()

    def _note_done(self, name: str) -> None:
        done = [one for one in ON_NODE if self.desk.outcome(one) == "done"]
        self.order += [*done, name]

    async def hinder(self, what: str) -> None:
        """Let something be in the way."""
        if what in FAULTS:
            self.at.own.server.faults.add(FAULTS[what])
        if what in ("slow disk", "all"):
            self.disk.clear()
        if what == "token":
            self.at.own.server.access.rotate(ADMIN, "tomorrow")
        if what in ("away", "all"):
            await self.at.own.server.away()

    async def lift(self, what: str) -> None:
        """Take it out of the way."""
        self.at.own.server.faults.lift()
        self.disk.set()
        self.at.own.token_file.write_text("tomorrow" if what == "token" else ADMIN)
        if what in ("away", "all"):
            await self.at.own.server.back()

    def outcomes(self, *names: str) -> set[str | None]:
        """Return what actions have come to."""
        return {self.desk.outcome(name) for name in names}


@asynccontextmanager
async def _scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    clock = TurnedClock()
    async with hanging_server() as hook, node_actions(tmp_path, limit_s=0.2) as at:
        scene = Scene(at, run_dir, clock, hook.url)

        def slowly(path: Path) -> int:
            scene.disk.wait(20)
            return reserved_draft.open_new(path)

        monkeypatch.setattr(state_file, "open_new", slowly)
        at.own.server.store.now = lambda: clock().wall
        at.cluster.add_pod("web", NODE)
        telling = asyncio.create_task(scene.aside.keep())
        try:
            async with running(scene.desk):
                yield scene
            await eventually(lambda: hook.connections)
            assert not telling.done(), telling.exception()
        finally:
            scene.disk.set()
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)


@pytest.mark.parametrize("hindrance", HINDRANCES)
async def test_flag_and_signal_come_first_when_anything_else_is_hindered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hindrance: str
) -> None:
    """In the order in which they always come; and what is left is done when nothing hinders it."""
    async with _scene(tmp_path, monkeypatch) as scene:
        await scene.hinder(hindrance)
        scene.desk.inbox.put_nowait(scene.desk.notice())
        await eventually(lambda: scene.outcomes(*LOCAL) == {"done"})
        assert scene.order == list(LOCAL)
        assert scene.desk.acknowledged == []
        if hindrance != "slow disk":  # which holds up nothing on the Node: that only comes after
            assert "done" not in scene.outcomes(*ON_NODE)
            await eventually(lambda: "retrying" in scene.outcomes("cordon"))
            assert scene.at.cluster.terminating() == []
        await scene.lift(hindrance)
        await eventually(lambda: scene.at.cluster.terminating() == ["web"])
        scene.at.cluster.finish_pod("web")
        await eventually(lambda: scene.outcomes(*LOCAL, *ON_NODE) == {"done"})
        await eventually(lambda: scene.desk.acknowledged == ["spot"])
        assert scene.order == list(LOCAL)
        assert (scene.run_dir / STATE_NAME).exists()


async def test_node_is_protected_when_the_disk_never_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But its source may not forget the notice: nobody would know of it after a restart."""
    async with _scene(tmp_path, monkeypatch) as scene:

        def is_done(name: str) -> bool:
            scene.clock.turn(0.01)  # each notice has rounds of its own
            outcomes = {scene.desk.outcome(one, name) for one in (*LOCAL, *ON_NODE)}
            return outcomes == {"done"}

        await scene.hinder("slow disk")
        for name in ("spot", "next"):
            scene.desk.inbox.put_nowait(scene.desk.notice(name))
        await eventually(lambda: scene.at.cluster.terminating() == ["web"])
        scene.at.cluster.finish_pod("web")
        for name in ("spot", "next"):
            await eventually(partial(is_done, name))
        await asyncio.sleep(0)
        assert scene.desk.acknowledged == []
        assert scene.order == [*LOCAL, *LOCAL]
