"""Tokens, rights and admission, as a real kube-apiserver 1.36 was measured; and faults."""

import asyncio

import aiohttp
import pytest

from tests.fakes.kube.access import ADMIN, Rule, Subject, rules_of
from tests.fakes.kube.admission import own_node_only
from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.refusals import busy, internal
from tests.support.clocks import eventually
from tests.support.kube import NODES, Kube

NODE = f"{NODES}/node-a"


def _role(*rules: tuple[str, str]) -> Subject:
    role = {
        "rules": [
            {"apiGroups": [""], "resources": [resource], "verbs": [verb]}
            for verb, resource in rules
        ]
    }
    return Subject("reprieve", rules_of(role))


async def test_request_is_refused_when_the_token_is_not_good_any_more(kube: Kube) -> None:
    """401 for none, for a wrong one and for yesterday's."""
    kube.cluster.add_node("node-a")
    assert (await kube.ask("GET", NODE)).status == 200
    kube.server.access.rotate(ADMIN, "tomorrow")
    assert (await kube.ask("GET", NODE)).status == 401
    kube.token = "tomorrow"  # noqa: S105 - no secret
    assert (await kube.ask("GET", NODE)).status == 200


async def test_request_is_forbidden_when_no_rule_allows_it(kube: Kube) -> None:
    """A subresource is a right of its own; what was granted is on record."""
    kube.cluster.add_node("node-a")
    kube.server.access.subjects["t"] = _role(("get", "nodes"), ("patch", "nodes/status"))
    kube.token = "t"  # noqa: S105 - no secret
    assert (await kube.ask("GET", NODE)).status == 200
    reply = await kube.patch(NODE, {"metadata": {"labels": {"a": "b"}}})
    assert (reply.status, reply.body["reason"]) == (403, "Forbidden")
    assert (await kube.patch(f"{NODE}/status", {"status": {"phase": "x"}})).status == 200
    assert kube.server.access.used("reprieve") == {
        ("get", "", "nodes"),
        ("patch", "", "nodes/status"),
    }


async def test_call_is_recorded_with_all_that_rights_depend_on(kube: Kube) -> None:
    """Verb, resource with subresource, namespace, name, and the answer."""
    kube.cluster.add_pod("web", "node-a")
    await kube.evict("web", gracePeriodSeconds=5)
    await kube.ask("GET", "/api/v1/pods", fieldSelector="spec.nodeName=node-a")
    first, second = kube.server.access.calls
    assert (str(first), first.status) == ("create pods/eviction team-a/web", 201)
    assert first.body["deleteOptions"] == {"gracePeriodSeconds": 5}
    assert (str(second), second.query["fieldSelector"]) == ("list pods", "spec.nodeName=node-a")


async def test_review_says_what_a_request_would_be_told(kube: Kube) -> None:
    """SelfSubjectAccessReview."""
    kube.server.access.subjects["t"] = _role(("get", "nodes"))
    kube.server.access.subjects["t"] = Subject(
        "reprieve",
        (Rule(["get"], ["nodes"]), Rule("*", ["selfsubjectaccessreviews"], groups="*")),
    )
    kube.token = "t"  # noqa: S105 - no secret
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    allowed = {}
    for verb in ("get", "patch"):
        spec = {"resourceAttributes": {"verb": verb, "resource": "nodes"}}
        reply = await kube.ask("POST", path, {"spec": spec})
        allowed[verb] = reply.body["status"]["allowed"]
    assert allowed == {"get": True, "patch": False}


async def test_admission_holds_a_bound_token_to_its_own_node(kube: Kube) -> None:
    """What RBAC can't say: own Node 200; another one, its status, a protected annotation 422."""
    for name in ("node-a", "node-b"):
        kube.cluster.add_node(name)
    kube.cluster.add_pod("web", "node-b")
    kube.server.access.subjects["t"] = Subject("reprieve", node="node-a")
    kube.server.api.policies.append(own_node_only(protected=["reprieve.dev/notice"]))
    kube.token = "t"  # noqa: S105 - no secret
    label = {"metadata": {"labels": {"a": "b"}}}
    status = {"status": {"phase": "x"}}
    notice = {"metadata": {"annotations": {"reprieve.dev/notice": "{}"}}}
    other = f"{NODES}/node-b"
    replies = [
        await kube.patch(path, patch)
        for path, patch in (
            *((NODE, label), (f"{NODE}/status", status)),
            *((other, label), (f"{other}/status", status), (NODE, notice)),
        )
    ]
    assert [reply.status for reply in replies] == [200, 200, 422, 422, 422]
    assert (await kube.evict("web")).status == 201  # an eviction can't be checked like this


async def test_fault_refuses_as_often_as_it_was_told(kube: Kube) -> None:
    """Only the requests that it fits, then all is well."""
    kube.cluster.add_node("node-a")
    kube.server.faults.add(busy(3), verb="patch", resource="nodes", times=2)
    replies = [await kube.patch(NODE, {"metadata": {"labels": {"a": "b"}}}) for _ in range(3)]
    assert [reply.status for reply in replies] == [429, 429, 200]
    assert replies[0].headers["Retry-After"] == "3"
    kube.server.faults.add(internal("etcd"), resource="pods")
    assert (await kube.ask("GET", "/api/v1/pods")).status == 500
    assert (await kube.ask("GET", NODE)).status == 200


async def test_request_is_done_though_its_answer_is_lost(kube: Kube) -> None:
    """Where a reset does nothing: whoever asks can't tell the two apart."""
    kube.cluster.add_pod("web", "node-a")
    for trouble, terminating in ((Trouble.RESET, []), (Trouble.LOST, ["web"])):
        kube.server.faults.add(trouble, verb="create", times=1)
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await kube.evict("web")
        assert kube.cluster.terminating() == terminating


async def test_request_hangs_until_the_faults_are_lifted(kube: Kube) -> None:
    """And nothing is done about it, not even then."""
    kube.cluster.add_pod("web", "node-a")
    kube.server.faults.add(Trouble.HANG, verb="create")
    asking = asyncio.create_task(kube.evict("web"))
    await eventually(lambda: not asking.done() and kube.server.connections)
    kube.server.faults.lift()
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await asking
    assert kube.cluster.terminating() == []


async def test_connection_is_refused_while_the_server_is_away(kube: Kube) -> None:
    """Back, it is at the same address with all that it had."""
    kube.cluster.add_node("node-a")
    assert (await kube.ask("GET", NODE)).status == 200
    await kube.server.away()
    with pytest.raises(aiohttp.ClientConnectionError):
        await kube.ask("GET", NODE)
    await kube.server.back()
    assert (await kube.ask("GET", NODE)).status == 200
