"""Calls about one Node. Conflicts are retried here, and nowhere else."""

import asyncio
import random
from collections.abc import Callable, Mapping
from urllib.parse import quote

from watcher.errors import KubeConflict
from watcher.kube.client import MERGE, STRATEGIC, KubeClient
from watcher.kube.objects import Node, node_of

NODES = "/api/v1/nodes"

CONFLICT_LIMIT = 10
"""How often an edit is tried: the kubelet and controllers write a Node several times a minute, so
that more conflicts in a row mean that somebody fights us. Who asked for the edit decides then."""

CONFLICT_PAUSE_S = 0.01
"""Longest pause after the first conflict, in seconds; it grows with each one more."""

Edit = Callable[[Node], Mapping[str, object] | None]
"""Returns a merge patch for the Node as it is, or None where nothing is to be changed."""


class NodeApi:
    """Reads and changes one Node.

    Args:
        client: Where to.
        name: The Node's name.
    """

    def __init__(self, client: KubeClient, name: str) -> None:
        self.name = name
        self._client = client
        self._path = f"{NODES}/{quote(name, safe='')}"

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing that is written is stored."""
        return self._client.is_dry_run

    async def get(self) -> Node:
        """Return the Node; raises KubeError."""
        return node_of(await self._client.get(self._path))

    async def edit(self, change: Edit) -> Node:
        """Change the Node, and return it as it is then.

        ``change`` is called with the Node as it is, and again whenever somebody else was faster: a
        patch holds for the version that it was made for, or another writer's taint would be lost.

        Raises:
            KubeError: It is not changed, or it is unknown whether it is.
        """
        for conflicts in range(1, CONFLICT_LIMIT):
            try:
                return await self._try_to(change)
            except KubeConflict:
                # Two that step in time would meet again and again.
                pause_s = random.uniform(0, CONFLICT_PAUSE_S * conflicts)  # noqa: S311 - a jitter
                await asyncio.sleep(pause_s)
        return await self._try_to(change)

    async def set_condition(self, condition: Mapping[str, str]) -> None:
        """Put a condition on the Node in the place of one of its type; raises KubeError.

        Conditions are written through the status alone, and merged by their type there.
        """
        await self._patch_status([dict(condition)])

    async def remove_condition(self, kind: str) -> None:
        """Take the condition of a type off the Node, if it is there; raises KubeError."""
        await self._patch_status([{"$patch": "delete", "type": kind}])

    async def _try_to(self, change: Edit) -> Node:
        node = await self.get()
        patch = change(node)
        if patch is None:
            return node
        meta = patch.get("metadata")
        told = {**(meta if isinstance(meta, dict) else {}), "resourceVersion": node.version}
        body = {**patch, "metadata": told}
        return node_of(await self._client.send("PATCH", self._path, body, media=MERGE))

    async def _patch_status(self, conditions: list[dict[str, str]]) -> None:
        body = {"status": {"conditions": conditions}}
        await self._client.send("PATCH", f"{self._path}/status", body, media=STRATEGIC)
