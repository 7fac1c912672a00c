"""Writes the relay's notices on Nodes, where the nodes' own daemons read them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from watcher.errors import (
    ActionRetryable,
    ConfigError,
    KubeError,
    KubeForbidden,
    KubeNotFound,
    SourceMalformed,
)
from watcher.health import SourceHealth
from watcher.kube.client import KubeClient
from watcher.kube.follow import Follower
from watcher.kube.keys import ENDED_BOOT, NOTICE
from watcher.kube.node import NODES, NodeApi
from watcher.kube.objects import Node
from watcher.kube.place import Place
from watcher.metrics import Metrics
from watcher.notice import Moment
from watcher.process import now
from watcher.relay.handlers import Handling, UnknownInstance
from watcher.relay.node_cache import KEYS, NodeCache, machines_for, machines_of
from watcher.relay.out_of_service import BackInService, may_be_taken_out, taken_out
from watcher.sources.kubernetes_config import KubernetesConfig
from watcher.sources.reading import ForInstance
from watcher.sources.relayed_notice import added

log = logging.getLogger(__name__)

WORD = "kubernetes"
"""Names this handler in the setting ``relay.handler``."""

CACHE = "kubernetes_nodes"

CALL_LIMIT_S = 5.0
"""Longest a call may take, in seconds: a list of 250 Nodes has several MiB, and a handler's try
may take 10 s."""


class NodeHandler:
    """Puts each notice into the annotation of its Node; see :class:`handlers.Handler`.

    Any number of relays may do so side by side: an annotation is only replaced in the version in
    which it was read, and a notice that is in it already is not written again.

    Args:
        client: Where the Nodes are.
        nodes: Which Node is which machine.
        now: Reads both clocks.
    """

    def __init__(self, client: KubeClient, nodes: NodeCache, now: Callable[[], Moment]) -> None:
        self._client = client
        self._nodes = nodes
        self._now = now

    async def handle(self, told: ForInstance, /) -> None:
        """Store the notice on its Node; a Node that has vanished needs no notice any more.

        Raises:
            UnknownInstance: No Node is the instance, so far.
            ActionRetryable: It could not be stored, or the Nodes are not known at the moment.
        """
        names = self._nodes.names_of(told)
        if names:
            for name in names:
                await self._tell(name, told)
        elif self._nodes.is_blind:
            raise ActionRetryable("the cluster's Nodes are not known at the moment")
        elif self._nodes.has_lost(told):
            log.info("node vanished %s instance_id=%s", told.notice, told.instance_id)
        else:
            raise UnknownInstance(f"no Node has {told.instance_id} in its providerID")

    async def _tell(self, name: str, told: ForInstance) -> None:
        try:
            await NodeApi(self._client, name).edit(partial(self._change, told))
        except KubeNotFound:
            log.info("node vanished %s node=%s", told.notice, name)
        except KubeForbidden as error:
            raise ActionRetryable(f"{error}. The account needs get and patch on nodes") from error
        except KubeError as error:
            raise ActionRetryable(str(error)) from error

    def _change(self, told: ForInstance, node: Node) -> Mapping[str, object] | None:
        if not machines_for(told) & machines_of(node):
            raise UnknownInstance(f"Node {node.name} is {node.provider_id} by now")
        try:
            text = added(node.annotations.get(NOTICE), told, node, self._now().wall)
        except SourceMalformed as error:
            raise ActionRetryable(f"Node {node.name}: {error}") from error
        annotations = {} if text is None else {NOTICE: text}
        if told.is_terminated and may_be_taken_out(node):
            annotations[ENDED_BOOT] = node.boot_id
            return {"metadata": {"annotations": annotations}, "spec": {"taints": taken_out(node)}}
        return {"metadata": {"annotations": annotations}} if annotations else None


@asynccontextmanager
async def opened_nodes(config: KubernetesConfig, metrics: Metrics) -> AsyncIterator[Handling]:
    """Open the API server and follow its Nodes, until the end of the block.

    Raises:
        ConfigError: There is no API server, or its certificate's authority can't be read.
    """
    if config.url is None:
        raise ConfigError(
            "--handler kubernetes needs the API server's URL: REPRIEVE_KUBERNETES_URL, or in a pod "
            "KUBERNETES_SERVICE_HOST"
        )
    place = Place(config.url, config.token_file, config.authority_file)
    tls = await asyncio.to_thread(place.tls)
    async with KubeClient(place, tls, limit_s=CALL_LIMIT_S) as client:
        health = SourceHealth(CACHE, KEYS, now(), metrics)
        back = BackInService(client)
        nodes = NodeCache(Follower(client, NODES, ""), health, now, back.look)
        keepers = (nodes.keep, back.keep, client.keep_warm)
        yield Handling(NodeHandler(client, nodes, now), (health,), keepers, nodes.is_drained)
