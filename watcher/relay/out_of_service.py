"""The taint by which Kubernetes lets go of a machine that is off: its pods and volumes are free.

Without it the pods of a StatefulSet wait for a node that never answers, and their volumes for 6
minutes. On a node that still runs it would let two write to one volume. So it is never put on by
the node itself, but by the relay alone, and only when the cloud has said that the machine is
terminated. It is taken off when the Node shows another boot: somebody runs under its name again.

Source: Kubernetes documentation, "Node shutdowns", non-graceful (read 2026-11-30).
"""

import asyncio
import logging
from collections.abc import Mapping

from watcher.errors import KubeError, KubeNotFound
from watcher.kube.client import KubeClient
from watcher.kube.keys import ENDED_BOOT, OUT_OF_SERVICE
from watcher.kube.node import NodeApi
from watcher.kube.objects import Node

log = logging.getLogger(__name__)

EFFECT = "NoExecute"
_TAINT = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": EFFECT}

RETRY_S = 5.0
"""Seconds after which a Node that could not be freed is tried again."""


def may_be_taken_out(node: Node) -> bool:
    """Tell whether a Node whose machine is terminated is one to take out of service.

    One that names no boot is left as it is, because nobody could tell that it is back; and so is
    one that somebody else has taken out.
    """
    return bool(node.boot_id) and not any(_is_it(taint) for taint in node.taints)


def taken_out(node: Node) -> list[Mapping[str, str]]:
    """Return the Node's taints with the one that takes it out of service."""
    return [*node.taints, _TAINT]


def put_back(node: Node) -> Mapping[str, object] | None:
    """Return the patch that undoes it, if we have done it and the Node is in another boot."""
    if not is_back(node):
        return None
    patch: dict[str, object] = {"metadata": {"annotations": {ENDED_BOOT: None}}}
    others = [taint for taint in node.taints if not _is_it(taint)]
    if len(others) < len(node.taints):
        patch["spec"] = {"taints": others or None}
    return patch


def is_back(node: Node) -> bool:
    """Tell whether we have taken the Node out of service, and it runs again."""
    return bool(node.boot_id) and node.annotations.get(ENDED_BOOT, node.boot_id) != node.boot_id


class BackInService:
    """Puts Nodes back that run again; :meth:`keep` has to run for as long as it does.

    Args:
        client: Where the Nodes are.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._names: set[str] = set()
        self._has_news = asyncio.Event()

    def look(self, node: Node) -> None:
        """Take in a Node as it is now; does not wait for anything."""
        if is_back(node):
            self._names.add(node.name)
            self._has_news.set()

    async def keep(self) -> None:
        """Put Nodes back until cancelled, each again until that is done."""
        while True:
            await self._has_news.wait()
            self._has_news.clear()
            for name in sorted(self._names):
                await self._try_to(name)
            if self._names:
                await asyncio.sleep(RETRY_S)
                self._has_news.set()

    async def _try_to(self, name: str) -> None:
        try:
            await NodeApi(self._client, name).edit(put_back)
        except KubeNotFound:
            log.info("node vanished node=%s", name)
        except KubeError as error:
            log.warning("node not put back in service node=%s why=%s", name, error)
            return
        else:
            log.info("node back in service node=%s", name)
        self._names.discard(name)


def _is_it(taint: Mapping[str, str]) -> bool:
    return (taint.get("key"), taint.get("effect")) == (OUT_OF_SERVICE, EFFECT)
