"""Admission: what a ValidatingAdmissionPolicy adds to RBAC, which can't say "the own Node"."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tests.fakes.kube.access import Subject, Target
from tests.fakes.kube.kinds import NODE, Obj
from tests.fakes.kube.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Request:
    """A write that is about to be stored."""

    subject: Subject
    target: Target
    before: Obj
    after: Obj


Policy = Callable[[Request], None]
"""Refuses a write, or returns."""


def own_node_only(protected: Collection[str] = ()) -> Policy:
    """Hold a token that is bound to a node to this Node, and to annotations that are not protected.

    As measured, an eviction can't be checked that way; pods are left alone here.
    """

    def check(request: Request) -> None:
        subject, target = request.subject, request.target
        if not subject.node or target.kind != NODE:
            return
        if target.name != subject.node:
            raise _denied(target, "only the own Node may be changed")
        before, after = (
            one["metadata"].get("annotations") or {} for one in (request.before, request.after)
        )
        for key in protected:
            if before.get(key) != after.get(key):
                raise _denied(target, f"annotation {key} is not for this account to change")

    return check


def _denied(target: Target, why: str) -> Refusal:
    message = (
        f'{target.kind.plural} "{target.name}" is forbidden: ValidatingAdmissionPolicy '
        f"'own-node' denied request: {why}"
    )
    return Refusal(422, "Invalid", message)
