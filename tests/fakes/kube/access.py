"""Who may do what, by bearer token and rules as in a ClusterRole, and what each has asked for."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.kube.kinds import Kind, Obj
from tests.fakes.kube.refusals import Refusal, unauthorized

ADMIN = "admin-token"
"""The token that may do everything."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about, in the words of RBAC."""

    verb: str
    kind: Kind
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def resource(self) -> str:
        """As in a rule: ``pods/eviction``."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the server has seen it, and what it was answered."""

    verb: str
    group: str
    resource: str
    """With its subresource: ``nodes/status``."""
    namespace: str
    name: str
    subject: str
    status: int
    """0 where no answer was given."""
    body: Any = None
    """What was sent, as JSON, or None."""
    query: Obj = field(default_factory=dict)

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}".strip("/")
        return f"{self.verb} {self.resource} {place}".strip()


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources of groups, as in a Role; ``*`` stands for all."""

    verbs: Iterable[str]
    resources: Iterable[str]
    groups: Iterable[str] = ("",)
    names: Iterable[str] = ()
    namespace: str = ""
    """Where it holds; everywhere if it is empty."""

    def allows(self, target: Target) -> bool:
        """Tell whether the rule allows it."""
        pairs = (
            (self.verbs, target.verb),
            (self.resources, target.resource),
            (self.groups, target.kind.group),
        )
        is_named = not self.names or target.name in self.names
        is_there = self.namespace in ("", target.namespace)
        return is_named and is_there and all("*" in some or one in some for some, one in pairs)


EVERYTHING = Rule(verbs="*", resources="*", groups="*")


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a token stands for."""

    name: str
    rules: tuple[Rule, ...] = (EVERYTHING,)
    groups: tuple[str, ...] = ()
    """The groups that it is in, of which RBAC knows nothing here."""
    node: str = ""
    """The node that the token is bound to: ``authentication.kubernetes.io/node-name``."""

    def may(self, target: Target) -> bool:
        """Tell whether one of the rules allows it."""
        return any(rule.allows(target) for rule in self.rules)


def rules_of(role: Obj, namespace: str = "") -> tuple[Rule, ...]:
    """Return the rules of a Role or ClusterRole, bound in a namespace or everywhere."""
    return tuple(
        Rule(
            verbs=tuple(one["verbs"]),
            resources=tuple(one["resources"]),
            groups=tuple(one["apiGroups"]),
            names=tuple(one.get("resourceNames") or ()),
            namespace=namespace,
        )
        for one in role["rules"]
    )


class Access:
    """The tokens that are good at the moment, and every call so far."""

    def __init__(self) -> None:
        self.subjects = {ADMIN: Subject("admin")}
        self.calls: list[Call] = []

    def subject(self, authorization: str) -> Subject:
        """Return whose token this is; refuses one that is not good."""
        kind, _, token = authorization.partition(" ")
        found = self.subjects.get(token) if kind == "Bearer" else None
        if found is None:
            raise unauthorized()
        return found

    def rotate(self, old: str, new: str) -> None:
        """Put a new token in an old one's place, which is worth nothing from now on."""
        self.subjects[new] = self.subjects.pop(old)

    def used(self, subject: str) -> set[tuple[str, str, str]]:
        """Return the (verb, group, resource) that were granted to a subject and used."""
        return {
            (call.verb, call.group, call.resource)
            for call in self.calls
            if call.subject == subject and call.status not in (401, 403)
        }


def require(subject: Subject, target: Target) -> None:
    """Refuse what the rules don't allow."""
    if subject.may(target):
        return
    where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    details = {"name": target.name, "group": target.kind.group, "kind": target.kind.plural}
    message = (
        f'{target.kind.qualified} "{target.name}" is forbidden: User "{subject.name}" cannot '
        f'{target.verb} resource "{target.resource}" in API group "{target.kind.group}" {where}'
    )
    raise Refusal(403, "Forbidden", message, details)
