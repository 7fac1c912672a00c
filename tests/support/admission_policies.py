"""ValidatingAdmissionPolicies as the API server applies them: their expressions, run as CEL.

The expressions are compiled and run by the C++ implementation of the language (cel-expr-python).
What Kubernetes adds to it, functions and the types of its objects, is not there: an object is a
dynamic value.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # stubs without py.typed

from tests.fakes.kube.admission import Policy, Request
from tests.fakes.kube.refusals import Refusal
from tests.support.kustomized import Manifest

NODE_NAME = "authentication.kubernetes.io/node-name"
"""What the API server knows of the token of a pod. Source: Kubernetes documentation, "Managing
Service Accounts" (read 2026-11-30)."""

OPERATIONS = {"patch": "UPDATE", "update": "UPDATE", "create": "CREATE", "delete": "DELETE"}


def policies_of(objects: Iterable[Manifest]) -> list[Policy]:
    """Return what the policies among some objects refuse."""
    return [_policy(one) for one in objects if one["kind"] == "ValidatingAdmissionPolicy"]


def _policy(document: Manifest) -> Policy:
    spec = document["spec"]

    def check(request: Request) -> None:
        known: dict[str, Any] = {
            "request": _review(request),
            "object": request.after,
            "oldObject": request.before,
            "variables": {},
        }
        conditions = spec.get("matchConditions", [])
        if not _concerns(spec["matchConstraints"], request) or not all(
            _value(one["expression"], known) for one in conditions
        ):
            return
        for one in spec.get("variables", []):
            known["variables"][one["name"]] = _value(one["expression"], known)
        for one in spec["validations"]:
            if _value(one["expression"], known) is not True:
                said = one.get("messageExpression")
                why = one["message"] if said is None else _value(said, known)
                raise _denied(document, request, why)

    return check


def _concerns(constraints: Manifest, request: Request) -> bool:
    target = request.target
    return any(
        target.kind.group in rule["apiGroups"]
        and target.resource in rule["resources"]
        and OPERATIONS.get(target.verb) in rule["operations"]
        for rule in constraints["resourceRules"]
    )


def _review(request: Request) -> Manifest:
    """Return what an AdmissionReview says of who asks."""
    subject = request.subject
    extra = {"extra": {NODE_NAME: [subject.node]}} if subject.node else {}
    groups = {"groups": list(subject.groups)} if subject.groups else {}
    return {"userInfo": {"username": subject.name} | groups | extra}


@cache
def _compiled(expression: str) -> cel.Expression:
    names = ("request", "object", "oldObject", "variables")
    environment = cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN))
    return environment.compile(expression)


def _value(expression: str, known: Mapping[str, object]) -> object:
    return _compiled(expression).eval(data=dict(known)).plain_value()


def _denied(document: Manifest, request: Request, why: object) -> Refusal:
    name, target = document["metadata"]["name"], request.target
    message = (
        f'{target.kind.plural} "{target.name}" is forbidden: ValidatingAdmissionPolicy '
        f"'{name}' with binding '{name}' denied request: {why}"
    )
    return Refusal(422, "Invalid", message)
