"""The eviction subresource: a delete that asks the pod's budget first.

After registry/core/pod/storage/eviction.go of kube-apiserver, and as measured.
"""

from tests.fakes.kube.deletion import delete
from tests.fakes.kube.kinds import BUDGET, POD, Obj
from tests.fakes.kube.refusals import Refusal, bad_request, budget_violated, internal, success
from tests.fakes.kube.selectors import selects
from tests.fakes.kube.store import Store, stamp

_NO_BUDGET_NEEDED = ("Succeeded", "Failed", "Pending")
_RETRY_AFTER_S = 10


def evict(store: Store, namespace: str, name: str, eviction: Obj, *, is_dry_run: bool) -> Obj:
    """Evict a pod, or refuse."""
    said = eviction.get("metadata", {}).get("name", name)
    if said != name:
        raise bad_request("name in URL does not match name in Eviction object")
    pod = store.get(POD, namespace, name)
    options = dict(eviction.get("deleteOptions") or {})
    is_dry_run = is_dry_run or "All" in (options.get("dryRun") or [])
    if is_dry_run:
        options["dryRun"] = ["All"]
    wanted = (options.get("preconditions") or {}).get("uid")
    is_meant = wanted in (None, pod["metadata"]["uid"])
    if is_meant and not _goes_anyway(pod):
        _ask_budgets(store, pod, is_dry_run=is_dry_run)
    if is_meant and not is_dry_run:
        pod = _marked(store, pod)
    delete(store, POD, pod, options)
    return success(201)


def _goes_anyway(pod: Obj) -> bool:
    is_idle = (pod.get("status") or {}).get("phase") in _NO_BUDGET_NEEDED
    return is_idle or "deletionTimestamp" in pod["metadata"]


def _ask_budgets(store: Store, pod: Obj, *, is_dry_run: bool) -> None:
    budgets = [
        budget
        for budget in store.every(BUDGET, pod["metadata"]["namespace"])
        if selects(budget["spec"].get("selector") or {}, pod)
    ]
    if len(budgets) > 1:
        raise internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )
    for budget in budgets:
        if not _is_unready(pod) or not _lets_unready_go(budget):
            _take_one(store, budget, pod, is_dry_run=is_dry_run)


def _is_unready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return not any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _lets_unready_go(budget: Obj) -> bool:
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _take_one(store: Store, budget: Obj, pod: Obj, *, is_dry_run: bool) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        cause = f"The disruption budget {name} is still being processed by the server."
        raise budget_violated(cause, _RETRY_AFTER_S)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise Refusal(403, "Forbidden", f"pdb disruption budget is negative: {name}")
    if allowed == 0:
        raise budget_violated(
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently"
        )
    if not is_dry_run:
        status["disruptionsAllowed"] = allowed - 1
        gone = status.setdefault("disruptedPods", {})
        gone[pod["metadata"]["name"]] = stamp(store.now())
        store.replace(BUDGET, budget | {"status": status})


def _marked(store: Store, pod: Obj) -> Obj:
    """Say on the pod that an eviction ends it: a plain delete says nothing."""
    status = pod.setdefault("status", {})
    others = [one for one in status.get("conditions") or [] if one["type"] != "DisruptionTarget"]
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": stamp(store.now()),
    }
    is_known = len(others) < len(status.get("conditions") or [])
    if not is_known:
        status["conditions"] = [*others, mark]
    return store.replace(POD, pod)
