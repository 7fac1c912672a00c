"""Label and field selectors, as text in a query and as an object in a budget."""

import re

from tests.fakes.kube.kinds import EVENT, NODE, POD, Kind, Obj
from tests.fakes.kube.refusals import bad_request

_FIELDS: dict[str, set[str]] = {
    NODE.kind: {"spec.unschedulable"},
    POD.kind: {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "status.phase"},
    EVENT.kind: {
        "involvedObject.kind",
        "involvedObject.name",
        "involvedObject.namespace",
        "involvedObject.uid",
        "reason",
        "type",
    },
}
"""Beside metadata.name and metadata.namespace, which every kind has."""

_SET = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")


def labels_match(selector: str, obj: Obj) -> bool:
    """Tell whether an object's labels fit a selector such as ``a=b,c in (d,e),!f``."""
    labels = obj["metadata"].get("labels") or {}
    terms = re.split(r",(?![^()]*\))", selector) if selector else []
    return all(_term_holds(term.strip(), labels) for term in terms)


def selects(selector: Obj, obj: Obj) -> bool:
    """Tell whether an object's labels fit a LabelSelector; an empty one fits all."""
    labels = obj["metadata"].get("labels") or {}
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _expression_holds(one["operator"], one["key"], one.get("values") or [], labels)
        for one in selector.get("matchExpressions") or []
    )


def fields_match(selector: str, kind: Kind, obj: Obj) -> bool:
    """Tell whether an object fits a selector such as ``spec.nodeName=node-a``.

    Refuses a field by which the API server can't select.
    """
    for term in selector.split(",") if selector else []:
        name, operator, value = re.split(r"(!=|==|=)", term, maxsplit=1)
        if name not in {"metadata.name", "metadata.namespace", *_FIELDS.get(kind.kind, ())}:
            raise bad_request(f"field label not supported: {name}")
        if (_field(obj, name) == value) is (operator == "!="):
            return False
    return True


def _term_holds(term: str, labels: dict[str, str]) -> bool:
    if found := _SET.fullmatch(term):
        key, operator, values = found.groups()
        name = "In" if operator == "in" else "NotIn"
        return _expression_holds(name, key, [one.strip() for one in values.split(",")], labels)
    if term.startswith("!"):
        return term[1:] not in labels
    if "!=" in term:
        key, _, value = term.partition("!=")
        return labels.get(key) != value
    if "=" in term:
        key, _, value = term.replace("==", "=").partition("=")
        return labels.get(key) == value
    return term in labels


def _expression_holds(operator: str, key: str, values: list[str], labels: dict[str, str]) -> bool:
    match operator:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def _field(obj: Obj, dotted: str) -> str:
    found: object = obj
    for part in dotted.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    # The API server shows false where nothing is said.
    return str(found) if found is not None else ("false" if dotted.endswith("able") else "")
