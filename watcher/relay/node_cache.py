"""Which Node is which machine, kept from one watch of all Nodes."""

import logging
import re
from collections.abc import Callable, Iterable
from contextlib import aclosing

from watcher.actions.node_plan import left_on
from watcher.errors import KubeError, KubeMalformed
from watcher.health import SourceHealth
from watcher.kube.answers import JsonObject
from watcher.kube.follow import Changed, Follower, Listed, Still
from watcher.kube.objects import Node, node_of
from watcher.notice import Moment
from watcher.sources.following import Patience, as_source_error
from watcher.sources.reading import ForInstance
from watcher.sources.remembered import Remembered

log = logging.getLogger(__name__)

KEY = "nodes"
KEYS = (KEY,)

GKE_INSTANCE = "container.googleapis.com/instance_id"
"""Annotation of a GKE Node: the VM's number, by which messages call it, where providerID has only
its name. Source: Node objects of GKE clusters (read 2026-11-30)."""

GONE_S = 600.0
"""How long it is known of a machine that its Node has vanished, in seconds: what a queue has still
to say about it comes within minutes, and after that it may have been started again."""

_AWS = re.compile(r"aws:///[^/]*/(i-[A-Za-z0-9-]+)")
_GCE = re.compile(r"gce://[^/]+/[^/]+/[^/]+")
_GCE_RESOURCE = re.compile(r"(?:.*/)?projects/([^/]+)/zones/([^/]+)/instances/([^/]+)")
"""How Google Cloud names a VM in messages; the Node's providerID has the same three parts."""


def machines_of(node: Node) -> frozenset[str]:
    """Return every word by which a message may call the machine that a Node is."""
    words = {node.annotations.get(GKE_INSTANCE, "")}
    if found := _AWS.fullmatch(node.provider_id):
        words.add(found[1])
    elif _GCE.fullmatch(node.provider_id):
        words.add(node.provider_id)
    else:
        words.clear()
    return frozenset(words - {""})


def machines_for(told: ForInstance) -> frozenset[str]:
    """Return every word by which a notice calls its machine."""
    words = {told.instance_id}
    if found := _GCE_RESOURCE.fullmatch(told.notice.detail.get("resourceName", "")):
        words.add("gce://{}/{}/{}".format(*found.groups()))
    return frozenset(words)


class NodeCache:
    """The Nodes of a cluster, by the machines that they are; :meth:`keep` has to run meanwhile.

    Args:
        follower: Follows all Nodes.
        health: Where usable answers are noted, on KEYS.
        now: Reads both clocks.
        look: Is shown each Node whenever it comes or changes.
    """

    def __init__(
        self,
        follower: Follower,
        health: SourceHealth,
        now: Callable[[], Moment],
        look: Callable[[Node], None] = lambda _: None,
    ) -> None:
        self.health = health
        self._follower = follower
        self._now = now
        self._look = look
        self._patience = Patience(lambda: now().boottime_s)
        self._machines: dict[str, frozenset[str]] = {}
        self._names: dict[str, set[str]] = {}
        self._listed: set[str] = set()
        self._drained: set[str] = set()
        self._gone = Remembered(now, kept_s=GONE_S)

    @property
    def is_blind(self) -> bool:
        """Whether there may be Nodes that are not known here."""
        return self.health.blind_since() is not None

    def names_of(self, told: ForInstance) -> tuple[str, ...]:
        """Return the Nodes that are a notice's machine: one, or none that is known."""
        words = machines_for(told)
        return tuple(sorted({name for one in words for name in self._names.get(one, ())}))

    def has_lost(self, told: ForInstance) -> bool:
        """Tell whether there was such a Node lately, and is none any more."""
        return any(word in self._gone for word in machines_for(told))

    def is_drained(self, instance_id: str) -> bool:
        """Tell whether the Node of a machine says that its pods are gone."""
        return not self._drained.isdisjoint(self._names.get(instance_id, ()))

    async def keep(self) -> None:
        """Follow the Nodes until cancelled, whatever becomes of each try."""
        while True:
            await self._patience.wait()
            try:
                async with aclosing(self._follower.news()) as every:
                    async for news in every:
                        self._take(news)
            except KubeError as error:
                self._patience.failed(error)
                self._note(error)

    def _note(self, cause: KubeError) -> None:
        error = as_source_error(cause)
        error.key = KEY
        if self.health.failed(error, self._now()):
            log.warning("nodes unknown outcome=%s why=%s", error.outcome, error)

    def _take(self, news: Listed | Changed | Still) -> None:
        match news:
            case Listed():
                self._list(news)
                if not news.is_last:
                    return
            case Changed(is_gone=True):
                self._drop(_name(news.object))
            case Changed():
                self._put(news.object)
            case Still():
                pass
        what = "present" if self._machines else "absent"
        if self.health.answered(KEY, what, self._now(), took_s=None):
            log.info("nodes known count=%d", len(self._machines))

    def _list(self, part: Listed) -> None:
        if part.is_first:
            self._listed = set()
        for obj in part.objects:
            self._put(obj)
            self._listed.add(_name(obj))
        if part.is_last:
            for name in self._machines.keys() - self._listed:
                self._drop(name)

    def _put(self, obj: JsonObject) -> None:
        try:
            node = node_of(obj)
        except KubeMalformed as error:
            log.warning("node not understood node=%s why=%s", _name(obj), error)
            return
        before, after = self._machines.get(node.name, frozenset()), machines_of(node)
        if after != before:
            self._unname(node.name, before - after)
        self._machines[node.name] = after
        for word in after:
            self._names.setdefault(word, set()).add(node.name)
        (self._drained.add if _is_drained(node) else self._drained.discard)(node.name)
        self._look(node)

    def _drop(self, name: str) -> None:
        self._drained.discard(name)
        self._unname(name, self._machines.pop(name, frozenset()))

    def _unname(self, name: str, words: Iterable[str]) -> None:
        for word in words:
            self._gone.add(word)
            self._names[word].discard(name)
            if not self._names[word]:
                del self._names[word]


def _is_drained(node: Node) -> bool:
    """Tell whether the daemon on a Node has noted in this boot that its pods are gone."""
    left = left_on(node)
    return left is not None and left.is_drained and node.boot_id in ("", left.boot_id)


def _name(obj: JsonObject) -> str:
    meta = obj.get("metadata")
    return str(meta.get("name", "")) if isinstance(meta, dict) else ""
