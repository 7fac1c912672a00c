"""What the API server says of itself, as far as kubectl asks."""

from tests.fakes.kube.kinds import KINDS, Kind, Obj

VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0",
    "gitCommit": "fake",
    "gitTreeState": "clean",
    "buildDate": "2026-11-30T00:00:00Z",
    "goVersion": "go1.25",
    "compiler": "gc",
    "platform": "linux/amd64",
}

_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def described(path: str) -> Obj | None:
    """Return what is at a path of discovery; None if it is none."""
    return _PATHS.get(path)


def _group(group: str, version: str) -> Obj:
    served = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [served], "preferredVersion": served}


def _resources(group: str, version: str) -> Obj:
    resources = []
    for kind in KINDS:
        if (kind.group, kind.version) == (group, version):
            resources += _resource(kind)
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": resources,
    }


def _resource(kind: Kind) -> list[Obj]:
    base: Obj = {"singularName": "", "namespaced": kind.is_namespaced}
    verbs = _VERBS if kind.is_stored else ["create"]
    names = {"singularName": kind.kind.lower(), "shortNames": list(kind.short)}
    found: list[Obj] = [
        base | names | {"name": kind.plural, "kind": kind.kind, "verbs": verbs},
    ]
    if kind.has_status:
        verbs = ["get", "patch", "update"]
        found.append(base | {"name": f"{kind.plural}/status", "kind": kind.kind, "verbs": verbs})
    if kind.kind == "Pod":
        eviction = {"kind": "Eviction", "group": "policy", "version": "v1", "verbs": ["create"]}
        found.append(base | eviction | {"name": "pods/eviction"})
    return found


def _every_path() -> dict[str, Obj]:
    groups = sorted({(one.group, one.version) for one in KINDS if one.group})
    every = [_group(group, version) for group, version in groups]
    paths: dict[str, Obj] = {
        "/version": VERSION,
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": every},
        "/api/v1": _resources("", "v1"),
    }
    for group, version in groups:
        alone = {"kind": "APIGroup", "apiVersion": "v1"} | _group(group, version)
        paths |= {f"/apis/{group}": alone, f"/apis/{group}/{version}": _resources(group, version)}
    return paths


_PATHS = _every_path()
