"""This machine's Node in Kubernetes: what it says of its end, and what is done to it at a notice.

The road stands beside any cloud, and is open where there is an API server.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
from watcher.kube.replacement import Ask, ask_of
from watcher.sources import kubernetes_doctor
from watcher.sources.kubernetes_config import (
    READERS,
    KubernetesConfig,
    ambient,
    is_protected,
    place_of,
    wanted,
)
from watcher.sources.kubernetes_node import KEYS, KubernetesNode, Own
from watcher.sources.road import Opened, Road, Site


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
        sources = (_source(client, site, board, ask),) if is_heard else ()
        if not has_actions:
            yield Opened(sources=sources, keepers=(client.keep_warm,), board=board)
            return
        wishes = NodeWishes(site.state, site.boot_id, site.now)
        desk = NodeDesk(NodeApi(client, site.node), wishes, site.facts, board, ask)
        actions = _actions(config, site, desk, client)
        forgotten = Forgotten(desk, lambda: site.healths)
        keepers = (client.keep_warm, desk.keep, desk.keep_expiring, forgotten.keep)
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


def _source(client: KubeClient, site: Site, board: NodeBoard, ask: Ask | None) -> KubernetesNode:
    name = KubernetesNode.name
    own = Own(site.boot_id, lambda node: judge(node, site.facts(), site.boot_id), board.note, ask)
    return KubernetesNode(
        Follower(client, NODES, f"metadata.name={site.node}"),
        own,
        site.health(name, KEYS),
        site.now,
        site.left_by(name),
    )


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
