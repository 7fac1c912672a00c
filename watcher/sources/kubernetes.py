"""This machine's Node in Kubernetes: what it says of its end, and what is done to it at a notice.

The road stands beside any cloud, and is open where there is an API server.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from watcher import setting_values
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
from watcher.errors import ConfigError
from watcher.kube.client import KubeClient
from watcher.kube.follow import Follower
from watcher.kube.node import NODES, NodeApi
from watcher.kube.place import AUTHORITY_FILE, TOKEN_FILE, Place
from watcher.kube.replacement import Ask, ask_of, setting_of
from watcher.sources.kubernetes_node import KEYS, KubernetesNode, Own
from watcher.sources.road import Kinds, Opened, Road, Site

_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesConfig:
    """Whether this machine's Node is protected and heard, and how the API server is reached."""

    node: str = "auto"
    """Whether the Node is protected: ``on``, ``off``, or ``auto``: where a pod has an API server
    and a service account's token. The Node's name is the setting ``node`` at the top."""
    watch: str = "auto"
    """Whether what the Node says of its end is heard; the same words."""
    no_execute: str = "off"
    """``on`` to have the control plane end, at last, every pod that does not tolerate our taint,
    those of DaemonSets and those that the drain leaves alone as well."""
    replacement: str = "off"
    """How whoever replaces Nodes is asked for another one, when a trainer has asked for that:
    ``hyperpod``, ``gke``, ``label:KEY=VALUE`` or ``condition:TYPE=STATUS``."""
    url: str | None = None
    """The API server; in a pod KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT say it."""
    token_file: Path = TOKEN_FILE
    """The service account's token, read again once a minute."""
    authority_file: Path = AUTHORITY_FILE
    """Who has signed the API server's certificate."""


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "node": setting_values.one_of("auto", "on", "off"),
        "watch": setting_values.one_of("auto", "on", "off"),
        "no_execute": setting_values.one_of("on", "off"),
        "replacement": setting_of,
        "url": setting_values.api_url,
        "token_file": setting_values.path,
        "authority_file": setting_values.path,
    }
)


def ambient(environment: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    """Return where the API server is, as the kubelet tells every pod."""
    host, port = environment.get(_HOST, ""), environment.get(_PORT, "") or "443"
    if not host:
        return {}
    url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return {"url": (url, f"environment {_HOST}")}


def wanted(config: KubernetesConfig) -> Kinds:
    """Return the source if the Node is to be heard.

    Raises:
        ConfigError: It is, and there is no API server.
    """
    is_heard = _is_on(config, "watch", config.watch)
    return {KubernetesNode.name: KubernetesNode.kinds} if is_heard else {}


def is_protected(config: KubernetesConfig) -> bool:
    """Tell whether the Node is to be protected.

    Raises:
        ConfigError: It is, and there is no API server.
    """
    return _is_on(config, "node", config.node)


def _is_on(config: KubernetesConfig, setting: str, word: str) -> bool:
    if word == "auto":
        return config.url is not None and os.access(config.token_file, os.R_OK)
    if word == "on" and config.url is None:
        raise ConfigError(
            f"kubernetes.{setting} = on needs the API server's URL: kubernetes.url, or in a pod "
            f"{_HOST}"
        )
    return word == "on"


@asynccontextmanager
async def opened(config: KubernetesConfig, site: Site) -> AsyncIterator[Opened]:
    """Open the API server, until the end of the block."""
    place = Place(config.url or "", config.token_file, config.authority_file)
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
)
