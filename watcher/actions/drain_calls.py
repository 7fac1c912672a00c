"""Asks the API server to end pods: side by side, fairly, and never past the deadline."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from watcher.actions.drain_plan import Ask, Deed
from watcher.actions.drain_window import Window
from watcher.errors import (
    KubeBlocked,
    KubeConflict,
    KubeError,
    KubeForbidden,
    KubeNotFound,
    KubeRefused,
    KubeThrottled,
)
from watcher.kube.objects import Pod
from watcher.kube.pods import PodApi
from watcher.notice import Moment, rfc3339

log = logging.getLogger(__name__)

BATCH = 20
"""Most evictions in one round, of which there is about one a second, and most calls at a time: a
whole fleet may drain at once, and the API server is everybody's."""

BLOCKED_RETRY_S = 5.0
"""Seconds after which a blocked pod is asked for again, as kubectl does. Source: Kubernetes,
kubectl/pkg/drain/drain.go, evictPods (read 2026-11-30)."""

THROTTLED_LIMIT_S = 5.0
"""Longest that the API server's wish for a pause is followed, in seconds."""

MARK_LIMIT_S = 1.0
"""Longest that the mark may hold up the delete, in seconds: with a slow list before them all three
have to fit into the 5 s of an attempt."""

_GONE = (KubeNotFound, KubeConflict)
"""The pod is gone, and perhaps another one has its name."""


class DrainCalls:
    """Carries out what a plan asks, and remembers what was refused.

    Args:
        pods: The pods of the Node.
        window: Returns the time that there is; None when nothing is to be drained any more.
        now: Reads both clocks.
    """

    def __init__(
        self, pods: PodApi, window: Callable[[], Window | None], now: Callable[[], Moment]
    ) -> None:
        self._pods = pods
        self._window = window
        self._now = now
        self._again_s: dict[str, float] = {}
        self._throttled_until_s = 0.0
        self.blocked: dict[str, str] = {}
        """Why pods were not evicted when that was last asked, by their uid."""
        self.forced: set[str] = set()
        """The names of the pods that were deleted whatever their budgets said."""
        self.failed = ""
        """Why a call of the last round has come to nothing, if one has."""

    async def carry_out(self, asks: Sequence[Ask]) -> None:
        """Do what is asked, as far as it is time for it."""
        self.failed = ""
        self._forget({ask.pod.uid for ask in asks})
        polite = [ask for ask in asks if ask.deed is Deed.EVICT and self._may_be_asked(ask.pod)]
        firm = [ask for ask in asks if ask.deed is not Deed.EVICT]
        at_a_time = asyncio.Semaphore(BATCH)
        async with asyncio.TaskGroup() as group:
            for ask in (*firm, *polite[:BATCH]):
                group.create_task(self._carry_out(ask, at_a_time))

    async def _carry_out(self, ask: Ask, at_a_time: asyncio.Semaphore) -> None:
        async with at_a_time:
            pod = ask.pod
            try:
                grace_s = await self._call(ask)
            except _GONE:
                log.info("pod is gone pod=%s", name_of(pod))
            except KubeBlocked as error:
                self._note_blocked(pod, str(error), error.retry_after_s or BLOCKED_RETRY_S)
            except (KubeForbidden, KubeRefused) as error:
                self.forced.discard(name_of(pod))
                self._note_blocked(pod, str(error), BLOCKED_RETRY_S)
            except KubeThrottled as error:
                pause_s = min(error.retry_after_s or 1.0, THROTTLED_LIMIT_S)
                self._throttled_until_s = self._now().boottime_s + pause_s
            except KubeError as error:
                self.failed = str(error)
            else:
                if grace_s is not None:
                    self.blocked.pop(pod.uid, None)
                    log.info(
                        "pod asked to end pod=%s by=%s grace_s=%d", name_of(pod), ask.deed, grace_s
                    )

    async def _call(self, ask: Ask) -> int | None:
        """Ask a pod to end, and return within how many seconds; None where it is not the time."""
        if ask.deed is Deed.DELETE and self._window() is not None:
            await self._mark(ask.pod)
        window = self._window()  # again: that may have taken a while
        if window is None:  # withdrawn, or over, since the plan was made
            return None
        if ask.deed is Deed.SHORTEN:
            await self._pods.delete(ask.pod, ask.grace_s)
            return ask.grace_s
        grace_s = min(ask.grace_s, window.grace_s(self._now()))
        if ask.deed is Deed.EVICT:
            await self._pods.evict(ask.pod, grace_s)
        else:
            self.forced.add(name_of(ask.pod))  # before: the answer may get lost
            await self._pods.delete(ask.pod, grace_s)
        return grace_s

    async def _mark(self, pod: Pod) -> None:
        """Say on the pod that it is disrupted: else a Job would count it as failed by itself.

        That is optional, unlike the delete after it.
        """
        try:
            async with asyncio.timeout(MARK_LIMIT_S):
                await self._pods.set_condition(pod, self._disruption())
        except _GONE:
            raise
        except (KubeError, TimeoutError) as error:
            log.warning("pod not marked pod=%s why=%s", name_of(pod), str(error) or "too slow")

    def _may_be_asked(self, pod: Pod) -> bool:
        from_s = max(self._again_s.get(pod.uid, 0.0), self._throttled_until_s)
        return self._now().boottime_s >= from_s

    def _note_blocked(self, pod: Pod, why: str, retry_s: float) -> None:
        if self.blocked.get(pod.uid) != why:
            log.warning("pod not ended pod=%s why=%s", name_of(pod), why)
        self.blocked[pod.uid] = why
        self._again_s[pod.uid] = self._now().boottime_s + retry_s

    def _forget(self, uids: set[str]) -> None:
        """Forget those that nothing is asked about any more."""
        for known in (self.blocked, self._again_s):
            for uid in known.keys() - uids:
                del known[uid]

    def _disruption(self) -> dict[str, str]:
        return {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByReprieve",
            "message": "Reprieve: the cloud takes the node before the pod could be evicted",
            "lastTransitionTime": rfc3339(self._now().wall.replace(microsecond=0)),
        }


def name_of(pod: Pod) -> str:
    """Return the pod's name with its namespace."""
    return f"{pod.namespace}/{pod.name}"
