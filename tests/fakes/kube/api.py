"""What each verb does to the store."""

import base64
import json
from collections.abc import Mapping
from copy import deepcopy

from tests.fakes.kube.access import Subject, Target
from tests.fakes.kube.admission import Policy, Request
from tests.fakes.kube.deletion import delete
from tests.fakes.kube.eviction import evict
from tests.fakes.kube.kinds import KINDS, POD, REVIEW, Obj
from tests.fakes.kube.patches import APPLY, patched
from tests.fakes.kube.refusals import Refusal, bad_request, conflict
from tests.fakes.kube.rules import (
    require_valid,
    require_version,
    split_by_subresource,
    understood,
)
from tests.fakes.kube.store import Store
from tests.fakes.kube.watch import Selection

Query = Mapping[str, str]
Answer = tuple[int, Obj]


class Api:
    """The verbs, without HTTP."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.policies: list[Policy] = []
        """Admission: each is asked before a write is stored."""

    def read(self, target: Target, query: Query) -> Answer:
        """Answer a get or a list."""
        if target.verb == "get":
            return 200, self._store.get(target.kind, target.namespace, target.name)
        chosen = Selection(target.kind, target.namespace, query)
        items = [one for one in self._store.every(target.kind, target.namespace) if chosen.has(one)]
        meta: Obj = {"resourceVersion": str(self._store.version)}
        limit, start = int(query.get("limit") or 0), _start(query.get("continue", ""))
        if limit and len(items) > start + limit:
            meta["continue"] = _token(start + limit)
            meta["remainingItemCount"] = len(items) - start - limit
        return 200, {
            "kind": f"{target.kind.kind}List",
            "apiVersion": target.kind.api_version,
            "metadata": meta,
            "items": items[start : start + limit] if limit else items[start:],
        }

    def create(self, subject: Subject, target: Target, query: Query, obj: Obj) -> Answer:
        """Answer a POST."""
        if target.subresource == "eviction":
            return 201, self._evict(target, query, obj)
        if target.kind == REVIEW:
            return 201, _reviewed(subject, obj)
        obj = understood(target.kind, obj, is_strict=_is_strict(query))
        meta = obj.setdefault("metadata", {})
        place = meta.setdefault("namespace", target.namespace) if target.kind.is_namespaced else ""
        if place != target.namespace:
            raise bad_request("the namespace of the object does not match that of the request")
        if "name" not in meta and not meta.get("generateName"):
            raise bad_request("name or generateName is required")
        require_valid(target.kind, obj)
        self._admit(subject, target, {"metadata": {}}, obj)
        return 201, obj if _is_dry_run(query) else self._store.create(target.kind, obj)

    def update(self, subject: Subject, target: Target, query: Query, obj: Obj) -> Answer:
        """Answer a PUT."""
        require_version(target.kind, obj)
        before = self._store.get(target.kind, target.namespace, target.name)
        return 200, self._write(subject, target, query, before, obj)

    def patch(
        self, subject: Subject, target: Target, query: Query, change: tuple[str, bytes]
    ) -> Answer:
        """Answer a PATCH of a media type, with its body."""
        media, body = change
        if media == APPLY and not query.get("fieldManager"):
            raise bad_request("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
        before = self._store.get(target.kind, target.namespace, target.name)
        made = patched(before, media, body, is_forced=query.get("force") == "true")
        return 200, self._write(subject, target, query, before, made)

    def delete(self, target: Target, query: Query, options: Obj) -> Answer:
        """Answer a DELETE; what is asked for in the query counts as in the body."""
        options = deepcopy(options)
        if "gracePeriodSeconds" in query:
            options["gracePeriodSeconds"] = int(query["gracePeriodSeconds"])
        if _is_dry_run(query):
            options["dryRun"] = ["All"]
        obj = self._store.get(target.kind, target.namespace, target.name)
        return 200, delete(self._store, target.kind, obj, options)

    def _evict(self, target: Target, query: Query, eviction: Obj) -> Obj:
        if target.kind != POD:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        return evict(
            self._store, target.namespace, target.name, eviction, is_dry_run=_is_dry_run(query)
        )

    def _write(self, subject: Subject, target: Target, query: Query, before: Obj, made: Obj) -> Obj:
        kind, name = target.kind, target.name
        uid, said = before["metadata"]["uid"], made.get("metadata", {}).get("uid")
        if said not in (None, uid):
            why = f"Precondition failed: UID in precondition: {said}, UID in object meta: {uid}"
            raise conflict(kind, name, why)
        made = understood(kind, made, is_strict=_is_strict(query))
        made = split_by_subresource(kind, target.subresource, before, made)
        made["metadata"]["uid"] = uid
        if made["metadata"]["resourceVersion"] is None:
            del made["metadata"]["resourceVersion"]
        elif made["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]:
            raise conflict(kind, name)
        require_valid(kind, made)
        self._admit(subject, target, before, made)
        return made if _is_dry_run(query) else self._store.replace(kind, made)

    def _admit(self, subject: Subject, target: Target, before: Obj, after: Obj) -> None:
        for policy in self.policies:
            policy(Request(subject, target, before, after))


def _reviewed(subject: Subject, review: Obj) -> Obj:
    asked = review["spec"]["resourceAttributes"]
    plural, group = asked.get("resource", ""), asked.get("group", "")
    kind = next((one for one in KINDS if (one.plural, one.group) == (plural, group)), REVIEW)
    target = Target(
        asked.get("verb", ""),
        kind,
        asked.get("subresource", ""),
        asked.get("namespace", ""),
        asked.get("name", ""),
    )
    return review | {"status": {"allowed": subject.may(target)}}


def _is_dry_run(query: Query) -> bool:
    return query.get("dryRun") == "All"


def _is_strict(query: Query) -> bool:
    return query.get("fieldValidation") == "Strict"


def _token(start: int) -> str:
    return base64.urlsafe_b64encode(json.dumps({"start": start}).encode()).decode()


def _start(token: str) -> int:
    return int(json.loads(base64.urlsafe_b64decode(token))["start"]) if token else 0
