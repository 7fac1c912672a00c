"""What the API server accepts of an object, and what it silently leaves out."""

import re
from copy import deepcopy

from tests.fakes.kube.kinds import EVENT, LEASE, NODE, Kind, Obj
from tests.fakes.kube.refusals import bad_request, invalid

_WORD = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_KNOWN: dict[tuple[str, str], set[str]] = {
    ("Node", "spec"): {
        *("configSource", "externalID", "podCIDR", "podCIDRs", "providerID", "taints"),
        "unschedulable",
    },
    ("Lease", "spec"): {
        *("acquireTime", "holderIdentity", "leaseDurationSeconds", "leaseTransitions"),
        *("preferredHolder", "renewTime", "strategy"),
    },
}
"""Fields of the objects that are written here, by kind and place; of others any field is taken."""

_TOP = {"kind", "apiVersion", "metadata", "spec", "status"}
_META = {
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation"),
    *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels"),
    *("annotations", "ownerReferences", "finalizers", "managedFields", "selfLink"),
}


def understood(kind: Kind, obj: Obj, *, is_strict: bool) -> Obj:
    """Return the object without fields that nobody knows; under strict validation refuse them."""
    made = deepcopy(obj)
    places = [("metadata", _META)]
    places += [(place, known) for (name, place), known in _KNOWN.items() if name == kind.kind]
    unknown = []
    if kind.kind != EVENT.kind:
        unknown += [(made, name, name) for name in made if name not in _TOP]
    for place, known in places:
        inside = made.get(place) or {}
        unknown += [(inside, name, f"{place}.{name}") for name in inside if name not in known]
    if unknown and is_strict:
        fields = ", ".join(f'unknown field "{path}"' for _, _, path in unknown)
        raise bad_request(f"strict decoding error: {fields}")
    for inside, name, _ in unknown:
        del inside[name]
    return made


def split_by_subresource(kind: Kind, subresource: str, before: Obj, made: Obj) -> Obj:
    """Return what is stored: ``status`` comes through the status subresource, all else without.

    The rest is silently left as it was, except for the resourceVersion, which is compared.
    """
    kept = {"status"} if subresource == "status" else set(made) - {"status"}
    source = {name: made[name] for name in kept if name in made}
    rest = {name: value for name, value in before.items() if name not in kept}
    stored = rest | source if kind.has_status else deepcopy(made)
    meta = deepcopy(stored["metadata"])
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "creationTimestamp"):
        meta.pop(name, None)
        if name in before["metadata"]:
            meta[name] = before["metadata"][name]
    meta["resourceVersion"] = made["metadata"].get("resourceVersion")
    return stored | {"metadata": meta}


def require_valid(kind: Kind, obj: Obj) -> None:
    """Refuse an object that makes no sense."""
    name = obj["metadata"].get("name", "")
    for place in ("labels", "annotations"):
        for key, value in (obj["metadata"].get(place) or {}).items():
            _require_key(kind, name, f"metadata.{place}", key)
            if place == "labels":
                _require_word(kind, name, f"metadata.{place}", value)
    if kind == NODE:
        _require_taints(kind, obj)
    if kind == EVENT:
        _require_place(obj)


def require_version(kind: Kind, obj: Obj) -> None:
    """Refuse an update of a lock that says not which version it has seen."""
    if kind == LEASE and not obj["metadata"].get("resourceVersion"):
        name = obj["metadata"]["name"]
        why = "Invalid value: 0: must be specified for an update"
        raise invalid(kind, name, "metadata.resourceVersion", why)


def _require_taints(kind: Kind, obj: Obj) -> None:
    name, seen = obj["metadata"]["name"], set()
    for at, taint in enumerate((obj.get("spec") or {}).get("taints") or []):
        field = f"metadata.taints[{at}]"
        _require_key(kind, name, f"{field}.key", taint.get("key", ""))
        _require_word(kind, name, f"{field}.value", taint.get("value", ""))
        if taint.get("effect") not in _EFFECTS:
            why = f'Unsupported value: "{taint.get("effect")}": supported values: {_EFFECTS}'
            raise invalid(kind, name, f"{field}.effect", why)
        pair = (taint["key"], taint["effect"])
        if pair in seen:
            raise invalid(kind, name, field, f"Duplicate value: {taint}")
        seen.add(pair)


def _require_place(event: Obj) -> None:
    """An Event is where its object is; one about a Node, which is nowhere, in ``default``."""
    place = event["metadata"].get("namespace", "")
    about = event.get("involvedObject") or {}
    home = about.get("namespace") or ("default" if about.get("kind") == NODE.kind else "")
    if place != home:
        why = f'Invalid value: "{about.get("namespace", "")}": does not match event.namespace'
        raise invalid(EVENT, event["metadata"].get("name", ""), "involvedObject.namespace", why)


def _require_key(kind: Kind, name: str, field: str, key: str) -> None:
    prefix, slash, word = key.rpartition("/")
    if not word or not _WORD.fullmatch(word) or (slash and not _PREFIX.fullmatch(prefix)):
        raise invalid(kind, name, field, f'Invalid value: "{key}": name part must consist of ...')


def _require_word(kind: Kind, name: str, field: str, value: str) -> None:
    if not _WORD.fullmatch(value):
        why = f'Invalid value: "{value}": a valid label must be an empty string or consist of ...'
        raise invalid(kind, name, field, why)
