"""This machine's Node in Kubernetes: what it says of its end, and what is done to it at a notice.

The road stands beside any cloud, and is open where there is an API server.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass

from watcher.actions.all_saved import AllSaved
from watcher.actions.base import Action
from watcher.actions.drain import Drain
from watcher.actions.last_turn import LastTurn
from watcher.actions.no_execute import NoExecute
from watcher.actions.node_board import NodeBoard
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_forgotten import Forgotten
from watcher.actions.node_identity import judge
from watcher.actions.node_mark import NodeMark
from watcher.actions.node_replacement import NodeReplacement
from watcher.actions.node_steps import Cordon, ExcludeFromLoadBalancers, Taint
from watcher.actions.node_wishes import NodeWishes
from watcher.actions.trainer_look import TrainerLook
from watcher.kube.client import KubeClient
from watcher.kube.follow import Follower
from watcher.kube.node import NODES, NodeApi
from watcher.kube.objects import Node
from watcher.kube.replacement import ask_of
from watcher.sources import kubernetes_doctor, kubernetes_drill
from watcher.sources.base import Source
from watcher.sources.drill import Drills
from watcher.sources.kubernetes_config import (
    READERS,
    KubernetesConfig,
    ambient,
    is_protected,
    place_of,
    wanted,
)
from watcher.sources.kubernetes_drill import DrillMark
from watcher.sources.kubernetes_node import KEYS, KubernetesNode, Own
from watcher.sources.road import Opened, Road, Site


@dataclass(frozen=True, slots=True)
class Ear:
    """Who looks at the Node each time it was read, and what has to run for that."""

    note: Callable[[Node], None]
    sources: tuple[Source, ...] = ()
    keepers: tuple[Callable[[], Coroutine[None, None, None]], ...] = ()


@asynccontextmanager
async def opened(config: KubernetesConfig, site: Site) -> AsyncIterator[Opened]:
    """Open the API server, until the end of the block."""
    place = place_of(config)
    tls = await asyncio.to_thread(place.tls)
    async with KubeClient(place, tls, is_dry_run=site.is_dry_run) as client:
        is_heard, has_actions = await asyncio.to_thread(
            lambda: (bool(wanted(config)), is_protected(config))
        )
        board = NodeBoard(site.now)
        ask = ask_of(config.replacement) if has_actions else None
        ear = Ear(board.note)
        if is_heard and config.drill == "on":
            ear = _drilled(site, board)
        own = Own(site.boot_id, lambda node: judge(node, site.facts(), site.boot_id), ear.note, ask)
        sources = (_source(client, site, own), *ear.sources) if is_heard else ()
        keepers = (client.keep_warm, *ear.keepers)
        if not has_actions:
            yield Opened(sources=sources, keepers=keepers, board=board)
            return
        wishes = NodeWishes(site.state, site.boot_id, site.now)
        desk = NodeDesk(NodeApi(client, site.node), wishes, site.facts, board, ask)
        actions = _actions(config, site, desk, client)
        forgotten = Forgotten(desk, lambda: site.healths)
        keepers += (desk.keep, desk.keep_expiring, forgotten.keep)
        yield Opened(sources=sources, keepers=keepers, actions=actions, board=board)


def _actions(
    config: KubernetesConfig, site: Site, desk: NodeDesk, client: KubeClient
) -> tuple[Action, ...]:
    look = TrainerLook(site.run_dir, site.boot_id)
    drain = Drain(desk, client, look, site.drain, site.now)
    steps = (Cordon(desk), Taint(desk), ExcludeFromLoadBalancers(desk))
    actions = (NodeMark(desk, client, site.now), *steps, drain)

    def turn() -> LastTurn:
        return LastTurn(drain, AllSaved(look, site.now), site.drain.grace_s, site.now)

    last: list[Action] = [NoExecute(desk, turn())] if config.no_execute == "on" else []
    if config.replacement != "off":
        last.append(NodeReplacement(desk, turn()))
    return (*actions, *last)


def _source(client: KubeClient, site: Site, own: Own) -> KubernetesNode:
    name = KubernetesNode.name
    return KubernetesNode(
        Follower(client, NODES, f"metadata.name={site.node}"),
        own,
        site.health(name, KEYS),
        site.now,
        site.left_by(name),
    )


def _drilled(site: Site, board: NodeBoard) -> Ear:
    """Let the Node's annotation begin drills, beside all else that is seen on it."""
    name, keys = kubernetes_drill.NAME, (kubernetes_drill.KEY,)
    saved = AllSaved(TrainerLook(site.run_dir, site.boot_id), site.now)
    drills = Drills(site.health(name, keys, is_required=False), site.state, saved, site.now)
    mark = DrillMark(drills, site.now)

    def note(node: Node) -> None:
        board.note(node)
        mark.look(node)

    return Ear(note, (drills,), (drills.keep, mark.keep))


ROAD = Road(
    section="kubernetes",
    cloud=None,
    settings=KubernetesConfig,
    readers=READERS,
    wanted=wanted,
    opened=opened,
    ambient=ambient,
    protects=is_protected,
    checks=kubernetes_doctor.checks,
)
