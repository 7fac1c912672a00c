"""What a PATCH makes of an object: merge patch, strategic merge patch, JSON patch, forced apply."""

import json
from copy import deepcopy
from typing import Any

import jsonpatch
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency

from tests.fakes.kube.kinds import Obj
from tests.fakes.kube.refusals import Refusal, bad_request

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

_KEYS = {
    "conditions": "type",
    "addresses": "type",
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "ownerReferences": "uid",
}
"""Lists that a strategic merge merges, by field, with the key of their elements. ``spec.taints`` is
not among them: it is replaced as a whole."""

_DIRECTIVES = ("$setElementOrder/", "$retainKeys", "$patch")
_DELETE_FROM = "$deleteFromPrimitiveList/"


def patched(obj: Obj, kind: str, body: bytes, *, is_forced: bool) -> Obj:
    """Return the object as a patch of this media type makes it; refuses what can't be applied."""
    try:
        patch = yaml.safe_load(body) if kind == APPLY else json.loads(body)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from error
    match kind:
        case "application/merge-patch+json":
            merged: Obj = _merged(obj, patch)
            return merged
        case "application/strategic-merge-patch+json":
            return _strategic(obj, patch)
        case "application/json-patch+json":
            return _edited(obj, patch)
        case "application/apply-patch+yaml" if is_forced:
            return _strategic(obj, patch)
    raise Refusal(415, "UnsupportedMediaType", f"the fake knows no patch of type {kind} like this")


def _merged(obj: Any, patch: Any) -> Any:  # noqa: ANN401 - any JSON, RFC 7396
    if not isinstance(patch, dict):
        return deepcopy(patch)
    made = deepcopy(obj) if isinstance(obj, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = _merged(made.get(name), value)
    return made


def _edited(obj: Obj, patch: Any) -> Obj:  # noqa: ANN401 - any JSON, RFC 6902
    try:
        made: Obj = jsonpatch.apply_patch(obj, patch)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        message = f"the server rejected our request due to an error in our request: {error}"
        raise Refusal(422, "Invalid", message) from error
    return made


def _strategic(obj: Obj, patch: Obj) -> Obj:
    if patch.get("$patch") == "replace":
        return {name: deepcopy(value) for name, value in patch.items() if name != "$patch"}
    made = deepcopy(obj)
    for name, value in patch.items():
        if name.startswith(_DELETE_FROM):
            field = name.removeprefix(_DELETE_FROM)
            made[field] = [one for one in made.get(field) or [] if one not in value]
        elif name.startswith(_DIRECTIVES):
            continue
        elif value is None:
            made.pop(name, None)
        elif isinstance(value, dict):
            before = made.get(name)
            made[name] = _strategic(before if isinstance(before, dict) else {}, value)
        elif isinstance(value, list) and name in _KEYS:
            made[name] = _merged_list(made.get(name) or [], value, _KEYS[name])
        else:
            made[name] = deepcopy(value)
    return made


def _merged_list(before: list[Obj], patch: list[Obj], key: str) -> list[Obj]:
    if {"$patch": "replace"} in patch:
        return [deepcopy(one) for one in patch if "$patch" not in one]
    made = [deepcopy(one) for one in before]
    for one in patch:
        known = next((at for at, old in enumerate(made) if old.get(key) == one.get(key)), None)
        if one.get("$patch") == "delete":
            made = [old for old in made if old.get(key) != one.get(key)]
        elif known is None:
            made.append(deepcopy(one))
        else:
            made[known] = _strategic(made[known], one)
    return made
