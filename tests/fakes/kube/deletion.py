"""How a pod is deleted: first only asked to end, and gone when its grace is over.

After registry/rest/delete.go and the pod strategy of kube-apiserver, and as measured.
"""

from datetime import datetime, timedelta
from typing import Any

from tests.fakes.kube.kinds import POD, Kind, Obj
from tests.fakes.kube.refusals import conflict
from tests.fakes.kube.store import Store, stamp

_FINISHED = ("Succeeded", "Failed")


def delete(store: Store, kind: Kind, obj: Obj, options: Obj) -> Obj:
    """Delete an object as asked, and return what is left of it, or what it was.

    Refuses an object that is not the one of the preconditions.
    """
    meta = obj["metadata"]
    _require(kind, obj, options.get("preconditions") or {})
    is_dry_run = "All" in (options.get("dryRun") or [])
    grace_s = _grace_s(obj, options) if kind == POD else 0
    if grace_s == 0:
        namespace = meta.get("namespace", "")
        return obj if is_dry_run else store.remove(kind, namespace, meta["name"])
    if not _ask_to_end(meta, grace_s, store.now()) or is_dry_run:
        return obj
    return store.replace(kind, obj)


def _require(kind: Kind, obj: Obj, preconditions: Obj) -> None:
    for name, words in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted, is_so = preconditions.get(name), obj["metadata"][name]
        if wanted is not None and wanted != is_so:
            why = (
                f"the {words} in the precondition ({wanted}) does not match the {words} in record "
                f"({is_so}). The object might have been deleted and then recreated"
            )
            raise conflict(kind, obj["metadata"]["name"], why)


def _grace_s(pod: Obj, options: Obj) -> int:
    spec, asked = pod.get("spec") or {}, options.get("gracePeriodSeconds")
    grace_s = spec.get("terminationGracePeriodSeconds", 0) if asked is None else asked
    # Without a kubelet that has it, or with nothing that runs, there is nobody to wait for.
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in _FINISHED:
        return 0
    if asked is None and "deletionGracePeriodSeconds" in pod["metadata"]:
        return int(pod["metadata"]["deletionGracePeriodSeconds"])
    return 1 if grace_s < 0 else int(grace_s)


def _ask_to_end(meta: dict[str, Any], grace_s: int, now: datetime) -> bool:
    """Note until when the pod may go on; a later call may only shorten it."""
    if "deletionTimestamp" not in meta:
        asked_at = now
    elif grace_s < meta["deletionGracePeriodSeconds"]:
        # The shorter grace counts from the first call on.
        until = datetime.fromisoformat(meta["deletionTimestamp"])
        asked_at = until - timedelta(seconds=meta["deletionGracePeriodSeconds"])
    else:
        return False
    meta["deletionTimestamp"] = stamp(asked_at + timedelta(seconds=grace_s))
    meta["deletionGracePeriodSeconds"] = grace_s
    return True
