"""A drain over the fake API server, in time that the test turns."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.fakes.kube.access import ADMIN, Call
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import TurnedClock
from tests.support.own_node import NODE
from watcher.actions.drain import Drain
from watcher.actions.node_board import NodeBoard
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_wishes import NodeWishes
from watcher.actions.trainer_look import TrainerLook
from watcher.config import DrainConfig
from watcher.errors import ActionWaiting
from watcher.kube.client import KubeClient
from watcher.kube.node import NodeApi
from watcher.kube.place import Place
from watcher.notice import Deadline, Notice, NoticeKind, Standing
from watcher.policy import stand
from watcher.state import State

GOLDEN = Path(__file__).parents[1] / "contract" / "trainer_v1.json"
BOOT_ID = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"


class Draining:
    """One node with pods, a notice, and a drain that is asked again as the responder does."""

    def __init__(
        self, server: FakeApiServer, client: KubeClient, clock: TurnedClock, run_dir: Path
    ) -> None:
        self.server, self.cluster, self.clock = server, server.cluster, clock
        self.run_dir, self.client = run_dir, client
        self.state = State()
        self.facts: dict[str, str] = {}
        self.board = NodeBoard(clock)
        self.drain = self.made()
        self.said: list[str] = []
        """What the drain has said each time that it was asked."""

    def made(self, **rules: Any) -> Drain:  # noqa: ANN401 - DrainConfig's own
        """Make a drain, as a daemon that starts does; it is the one that is asked from now on."""
        api = NodeApi(self.client, NODE)
        wishes = NodeWishes(self.state, BOOT_ID, self.clock)
        desk = NodeDesk(api, wishes, lambda: self.facts, self.board)
        look = TrainerLook(self.run_dir, BOOT_ID)
        self.drain = Drain(desk, self.client, look, DrainConfig(**rules), self.clock)
        return self.drain

    def notice(self, name: str = "spot", *, left_s: float | None = 120, **more: Any) -> Standing:  # noqa: ANN401 - Notice's own
        """Put a notice in force, on a Node that is cordoned for it by now."""
        now = self.clock()
        standing = stand(
            Notice(
                id=name,
                source="test",
                received=now,
                deadline=None if left_s is None else Deadline.after(now, left_s),
                **{"kind": NoticeKind.PREEMPTION, **more},
            )
        )
        assert self.state.admit(standing, now) is not None
        self.cluster.edit_node(NODE, unschedulable=True)
        return standing

    def withdraw(self, standing: Standing) -> None:
        """Take a notice back."""
        later = replace(standing.notice, withdrawn=True, received=self.clock())
        assert self.state.retire(later, self.clock()) is not None

    async def ask(self, standing: Standing) -> bool:
        """Ask the drain once; tell whether it is over. Any error but waiting is the test's."""
        try:
            self.said.append(await self.drain.run(standing))
        except ActionWaiting as waiting:
            self.said.append(str(waiting))
            return False
        return True

    async def go_on(self, standing: Standing, seconds: int, *, kubelet: bool = True) -> bool:
        """Let so many seconds pass, asking in each; tell whether the drain is over."""
        for _ in range(seconds):
            if await self.ask(standing):
                return True
            self.clock.turn(1)
            if kubelet:
                self.finish()
        return False

    def finish(self) -> None:
        """Play the kubelet: what has had its grace is gone."""
        for name in self.cluster.terminating():
            meta = self.cluster.pod(name)["metadata"]
            if datetime.fromisoformat(meta["deletionTimestamp"]) <= self.clock().wall:
                self.cluster.finish_pod(name)

    def train(self, pod: str, state: str = "running", **more: object) -> None:
        """Let the trainer in a pod say how it is, now."""
        directory = self.run_dir / "trainers"
        directory.mkdir(exist_ok=True)
        document = json.loads(GOLDEN.read_text()) | {
            "pod_uid": self.cluster.pod(pod)["metadata"]["uid"],
            "heartbeat_boottime_s": self.clock().boottime_s,
            "state": state,
            **more,
        }
        (directory / f"{pod}.json").write_text(json.dumps(document))

    def asked(self, *names: str) -> list[tuple[str, str, int]]:
        """Return every eviction and delete that was granted: verb, pod and grace."""
        return [
            (_verb(call), call.name, _options(call)["gracePeriodSeconds"])
            for call in self.calls()
            if 0 < call.status < 300 and (not names or call.name in names)
        ]

    def calls(self) -> list[Call]:
        """Return every eviction and delete of a pod, granted or not."""
        every = self.server.access.calls
        wanted = (("create", "pods/eviction"), ("delete", "pods"))
        return [call for call in every if (call.verb, call.resource) in wanted]


def _verb(call: Call) -> str:
    return "evict" if call.verb == "create" else "delete"


def _options(call: Call) -> dict[str, Any]:
    options: dict[str, Any] = call.body["deleteOptions"] if call.verb == "create" else call.body
    return options


@asynccontextmanager
async def draining(
    directory: Path, clock: TurnedClock, *, is_dry_run: bool = False, limit_s: float = 2.0
) -> AsyncIterator[Draining]:
    """Run the fake with one Node, in the test's time."""
    token_file = directory / "token"
    token_file.write_text(f"{ADMIN}\n")
    async with fake_api_server(lambda: clock().wall) as server:
        server.cluster.add_node(NODE)
        place = Place(server.url, token_file)
        async with KubeClient(place, None, is_dry_run=is_dry_run, limit_s=limit_s) as client:
            yield Draining(server, client, clock, directory)
