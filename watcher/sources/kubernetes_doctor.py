"""What `reprieve-watcher doctor` asks Kubernetes: is the Node ours, and may it be protected.

Nothing is stored there: every write is a dry run, which the API server judges and forgets.
"""

import asyncio
from collections.abc import Sequence

from watcher.actions.drain_plan import stands_apart
from watcher.actions.node_identity import Verdict, judge
from watcher.errors import (
    ConfigError,
    KubeBlocked,
    KubeError,
    KubeForbidden,
    KubeNotFound,
    KubeRefused,
)
from watcher.finding import Finding, ok, unknown, wrong
from watcher.kube.client import KubeClient
from watcher.kube.keys import STATE
from watcher.kube.node import Edit, NodeApi
from watcher.kube.objects import Node
from watcher.kube.pods import PodApi
from watcher.kube.replacement import Ask, AskPlace, ask_of
from watcher.kube.rights import HEARING, PROTECTING, missing
from watcher.sources.kubernetes_config import KubernetesConfig, is_protected, place_of, wanted
from watcher.sources.road import Patient

LIMIT_S = 5.0
"""Longest that an answer is waited for, in seconds: longer than the daemon does, so that a slow
server is told from a silent one."""

_REACH = (
    "see that kubernetes.url, the token and the authority's file are those of this cluster, and "
    "that no NetworkPolicy keeps this pod from its API server"
)
_RIGHTS = "kubectl apply -k deploy/daemonset, whose base/rbac.yaml has all of them"
_NAME = "set node to spec.nodeName (REPRIEVE_NODE by the downward API, as deploy/daemonset does)"
_ADMITTED = (
    "let the policies of deploy/daemonset/base/admission.yaml know this account, and the token be "
    "one that is bound to this node's pod (Kubernetes 1.32 or newer)"
)

_ASKED = (
    "apply the component ask-hyperpod or ask-gke of deploy/daemonset with kubernetes.replacement, "
    "which takes out the policy reprieve-watcher-asks-nobody; or set it to off"
)


async def checks(config: KubernetesConfig, patient: Patient) -> Sequence[Finding]:
    """Return what is found of the API server and this machine's Node; nothing where both are off.

    Raises:
        ConfigError: They are on, and there is no API server.
    """
    is_heard, is_marked = await asyncio.to_thread(
        lambda: (bool(wanted(config)), is_protected(config))
    )
    if not (is_heard or is_marked):
        return _why_off(config)
    try:
        tls = await asyncio.to_thread(place_of(config).tls)
    except ConfigError as error:
        return [wrong("API server", str(error), _REACH)]
    async with KubeClient(place_of(config), tls, is_dry_run=True, limit_s=LIMIT_S) as client:
        answers = await _answers(client, config.url or "")
        if answers.todo:
            return [answers]
        rights = await _rights(client, is_heard=is_heard, is_marked=is_marked)
        node, own = await _node(client, patient)
        found = [answers, rights, own]
        if is_marked and node is not None:
            api = NodeApi(client, patient.node)
            found.append(await _mark(api))
            if ask := ask_of(config.replacement):
                found.append(await _replacement(api, ask))
            found.append(await _eviction(PodApi(client, patient.node)))
        return found


def _why_off(config: KubernetesConfig) -> list[Finding]:
    if config.url is None or "auto" not in (config.node, config.watch):
        return []
    found = f"an API server is named, and {config.token_file} can't be read, so it is not asked"
    return [unknown("API server", found)]


async def _answers(client: KubeClient, url: str) -> Finding:
    checked = f"API server at {url}"
    try:
        said = await client.get("/version")
    except KubeError as error:
        return wrong(checked, str(error), _REACH)
    return ok(checked, f"answers, {said.get('gitVersion', 'of no version')!s:.40}")


async def _rights(client: KubeClient, *, is_heard: bool, is_marked: bool) -> Finding:
    """Check what the account may do, by the API server's own judgement."""
    checked = "rights of the account"
    needed = (HEARING if is_heard else ()) + (PROTECTING if is_marked else ())
    try:
        refused = await missing(client, needed)
    except KubeError as error:
        return unknown(checked, str(error))
    if refused:
        return wrong(checked, f"may not {', '.join(map(str, refused))}", _RIGHTS)
    return ok(checked, f"all {len(needed)} that it needs")


async def _node(client: KubeClient, patient: Patient) -> tuple[Node | None, Finding]:
    """Check that the Node of this name is this machine."""
    checked = f"Node {patient.node}"
    try:
        node = await NodeApi(client, patient.node).get()
    except KubeNotFound:
        return None, wrong(checked, "the cluster has none of this name", _NAME)
    except KubeError as error:
        return None, unknown(checked, str(error))
    verdict, why = judge(node, {}, patient.boot_id)
    if verdict is Verdict.OWN:
        return node, ok(checked, "is this machine, by its boot id")
    if verdict is Verdict.NOT_YET:
        return node, wrong(checked, f"is another machine, or not renewed yet: {why}", _NAME)
    return node, unknown(checked, f"may be this machine: {why}")


async def _mark(api: NodeApi) -> Finding:
    """Check by a write that is not stored what no rule can say: policies, and another's Node."""
    checked = "marks on the Node"
    try:
        await api.edit(lambda node: {"metadata": {"annotations": {STATE: _as_it_is(node)}}})
    except (KubeForbidden, KubeRefused) as error:
        return wrong(checked, str(error), _ADMITTED)
    except KubeError as error:
        return unknown(checked, str(error))
    return ok(checked, "are accepted, as a dry run shows")


def _as_it_is(node: Node) -> str:
    return node.annotations.get(STATE, "{}")


async def _replacement(api: NodeApi, ask: Ask) -> Finding:
    """Check by writes that are not stored, one for each word, that another Node may be asked for.

    A dry run reaches nobody who would replace the Node: nothing is stored that he could read.
    """
    checked = f"{ask.place} {ask.key}, which asks for another Node"
    try:
        for value in sorted(ask.values()):
            if ask.place is AskPlace.LABEL:
                await api.edit(_labelled(ask.key, value))
            else:
                await api.set_condition({"type": ask.key, "status": value})
    except (KubeForbidden, KubeRefused) as error:
        return wrong(checked, str(error), _ASKED)
    except KubeError as error:
        return unknown(checked, str(error))
    return ok(checked, "is accepted, as a dry run shows")


def _labelled(key: str, value: str) -> Edit:
    return lambda _: {"metadata": {"labels": {key: value}}}


async def _eviction(pods: PodApi) -> Finding:
    """Check an eviction of one pod, without evicting it."""
    checked = "evictions"
    try:
        here = [pod for pod in await pods.list() if not stands_apart(pod) and pod.ends_at is None]
    except KubeError as error:
        return unknown(checked, str(error))
    if not here:
        return unknown(checked, "no pod is here that a drain would be about, so none was tried")
    pod = min(here, key=lambda one: (one.namespace, one.name))
    name = f"{pod.namespace}/{pod.name}"
    try:
        await pods.evict(pod, max(1, pod.grace_s))
    except KubeBlocked as error:
        return ok(checked, f"are judged: now a budget holds {name} ({error})")
    except (KubeForbidden, KubeRefused) as error:
        return wrong(checked, str(error), _RIGHTS)
    except KubeError as error:
        return unknown(checked, str(error))
    return ok(checked, f"are allowed, as a dry run with {name} shows")
