"""Notices on this machine's own Node, written by the relay and by whoever takes nodes away.

The Node is a level: what it shows is in force, and what it no longer shows is withdrawn. That holds
of a Node that was read and is this machine's; of any other nothing is known.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass

from watcher.actions.node_identity import Verdict
from watcher.errors import KubeError, KubeMalformed, SourceError, SourceMalformed, SourceUnavailable
from watcher.health import SourceHealth
from watcher.kube.answers import JsonObject
from watcher.kube.follow import Changed, Follower, Listed, Still
from watcher.kube.keys import NOTICE
from watcher.kube.objects import Node, node_of
from watcher.kube.replacement import Ask
from watcher.notice import Moment, Notice
from watcher.sources.following import Patience, as_source_error
from watcher.sources.kubernetes_marks import KUBERNETES_NODE, ROWS
from watcher.sources.kubernetes_object import read_marks
from watcher.sources.kubernetes_windows import LONGEST_S
from watcher.sources.relayed_notice import PREFIX
from watcher.sources.relayed_word import RelayedWord
from watcher.sources.told import Told

log = logging.getLogger(__name__)

MARKS, RELAYED = "marks", "relayed"
KEYS = (MARKS, RELAYED)


@dataclass(frozen=True, slots=True)
class Own:
    """What is known of this machine.

    Attributes:
        boot_id: This boot's.
        judge: Says whether a Node is this machine, and why.
        note: Takes the Node whenever it was read, for people to see.
        ask: How we ask for another one, if at all.
    """

    boot_id: str
    judge: Callable[[Node], tuple[Verdict, str]]
    note: Callable[[Node], None] = lambda _: None
    ask: Ask | None = None


class KubernetesNode:
    """What is on one Node; see :class:`watcher.sources.base.Source`.

    Args:
        follower: Follows the Node, and nothing else.
        own: What is known of this machine.
        health: Where usable answers are noted, on KEYS.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.
    """

    name = KUBERNETES_NODE
    kinds = frozenset({*(row.kind for row in ROWS), *LONGEST_S})

    def __init__(
        self,
        follower: Follower,
        own: Own,
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: Iterable[Notice] = (),
    ) -> None:
        self.health = health
        self._follower = follower
        self._own = own
        self._now = now
        left = tuple(adopted)
        relayed = {notice.id for notice in left if notice.id.startswith(f"{PREFIX}-")}
        self._marks = Told(notice for notice in left if notice.id not in relayed)
        self._relay = RelayedWord(own.boot_id, (one for one in left if one.id in relayed))
        self._node: JsonObject | None = None
        self._patience = Patience(lambda: now().boottime_s)

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield each notice when the Node shows it, and when it no longer does."""
        await self._patience.wait()
        try:
            async with aclosing(self._follower.news()) as every:
                async for news in every:
                    for notice in self._heard(news):
                        yield notice
        except KubeError as error:
            raise self._blind(as_source_error(error), error) from error
        except SourceError as error:
            # What came could not be made use of, so the next look begins with the whole Node.
            self._node = None
            self._follower.forget()
            raise self._blind(error) from error.__cause__

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing: what is on the Node is read again anyway."""

    def _blind(self, error: SourceError, cause: KubeError | None = None) -> SourceError:
        """Return the error as one of the source's, and let the next look wait."""
        error.key = MARKS
        self._patience.failed(cause)
        return error

    def _heard(self, news: Listed | Changed | Still) -> list[Notice]:
        """Return what a piece of news comes to."""
        is_live = isinstance(news, Changed)
        match news:
            case Listed(objects=(one, *_)):
                self._node = one
            case Listed() | Changed(is_gone=True):
                raise SourceUnavailable(
                    "there is no such Node: set node to this machine's, in a DaemonSet from "
                    "spec.nodeName",
                    outcome="no_node",
                )
            case Changed():
                self._node = news.object
            case Still():
                pass
        return [] if self._node is None else self._read(self._node, is_live=is_live)

    def _read(self, obj: JsonObject, *, is_live: bool) -> list[Notice]:
        """Return what has changed by a look at the Node."""
        now = self._now()
        try:
            node = node_of(obj)
        except KubeMalformed as error:
            raise SourceMalformed(str(error)) from error
        verdict, why = self._own.judge(node)
        if verdict in (Verdict.ANOTHER, Verdict.NOT_YET):
            raise SourceUnavailable(
                f"Node {node.name} is not known to be this machine: {why}", outcome="another_node"
            )
        self._own.note(node)
        own = self._own
        news = self._marks.exactly(read_marks(obj, node, own.boot_id, now, own.ask))
        self._answered(MARKS, len(self._marks), now)
        look = self._relay.look(node.annotations.get(NOTICE), node, now, is_live=is_live)
        if look.odd:
            self._note_odd(look.odd, now)
        else:
            self._answered(RELAYED, len(self._relay), now)
        return [*news, *look.news]

    def _answered(self, key: str, count: int, now: Moment) -> None:
        what = "present" if count else "absent"
        if self.health.answered(key, what, now, took_s=None):
            log.info("source answers source=%s key=%s answer=%s", self.name, key, what)

    def _note_odd(self, odd: str, now: Moment) -> None:
        """Be blind on the relay's word alone: the rest of the Node could be read."""
        error = SourceMalformed(odd)
        error.key = RELAYED
        if self.health.failed(error, now):
            log.warning("source blind source=%s key=%s why=%s", self.name, RELAYED, odd)
