"""What daemon and relay may do in a cluster is what they do, and no more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.kube.access import Subject, rules_of
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.admission_policies import policies_of
from tests.support.clocks import TurnedClock, eventually
from tests.support.kustomized import DAEMONSET, Manifest, named, rendered
from tests.support.own_node import NODE
from tests.support.standings import admitted, in_force, withdrawn
from tests.support.told_by_relay import told
from watcher.actions.base import Action
from watcher.errors import ActionRefused, ActionWaiting
from watcher.kube.keys import NOTICE
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind, Standing
from watcher.relay.nodes import opened_nodes
from watcher.sources.kubernetes import opened
from watcher.sources.kubernetes_config import KubernetesConfig
from watcher.sources.road import Opened, Site
from watcher.state import State
from watcher.supervise import keep_running

TOKEN = "bound-token"  # noqa: S105 - the fake's
WATCHER, RELAY = "reprieve-watcher", "reprieve-relay"
WEB = {"app": "web"}


def objects() -> list[Manifest]:
    """Return what is applied where there is a relay."""
    return rendered(DAEMONSET / "overlays" / "eks-relay")


def account(name: str) -> str:
    """Return how the API server calls a service account of ours."""
    meta = named(objects(), "ServiceAccount", name)["metadata"]
    return f"system:serviceaccount:{meta['namespace']}:{meta['name']}"


def subject(name: str, node: str) -> Subject:
    """Return who an account is to the API server, by all that the manifests bind to it."""
    rules = rules_of(named(objects(), "ClusterRole", name))
    for role in objects():
        if (role["kind"], role["metadata"]["name"]) == ("Role", name):
            rules += rules_of(role, role["metadata"]["namespace"])
    return Subject(account(name), rules, node=node)


def allowed(server: FakeApiServer) -> set[tuple[str, str, str]]:
    """Return every (verb, group, resource) that the token may use."""
    return {
        (verb, group, resource)
        for rule in server.access.subjects[TOKEN].rules
        for verb in rule.verbs
        for group in rule.groups
        for resource in rule.resources
    }


@pytest.mark.parametrize("name", [WATCHER, RELAY])
def test_account_is_bound_to_its_roles(name: str) -> None:
    """Names are compared as text by nobody else."""
    meta = named(objects(), "ServiceAccount", name)["metadata"]
    bound = {"kind": "ServiceAccount"} | {key: meta[key] for key in ("name", "namespace")}
    bindings = [one for one in objects() if one.get("subjects") == [bound]]
    assert [one["kind"] for one in bindings] == (
        ["RoleBinding", "ClusterRoleBinding"] if name == WATCHER else ["ClusterRoleBinding"]
    )
    for binding in bindings:
        role = named(objects(), binding["roleRef"]["kind"], binding["roleRef"]["name"])["metadata"]
        assert binding["metadata"].get("namespace") == role.get("namespace")


@pytest.mark.parametrize(("kind", "name"), [("DaemonSet", WATCHER), ("Deployment", RELAY)])
def test_pod_has_the_token_of_its_account(kind: str, name: str) -> None:
    """Only pods that ask for it get one."""
    assert named(objects(), "ServiceAccount", name)["automountServiceAccountToken"] is False
    pod: Manifest = named(objects(), kind)["spec"]["template"]["spec"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == (name, True)


@asynccontextmanager
async def deployed(
    clock: TurnedClock, directory: Path, *, replacement: str = "off"
) -> AsyncIterator[tuple[FakeApiServer, Site, Opened]]:
    """Open the road as the manifests have it: the account's rights, and the policies."""
    (directory / "token").write_text(TOKEN)
    async with fake_api_server(lambda: clock().wall) as server:
        server.access.subjects[TOKEN] = subject(WATCHER, NODE)
        server.api.policies += policies_of(objects())
        server.cluster.add_node(NODE, boot_id="boot-1")
        token_file = directory / "token"
        config = KubernetesConfig(
            node="on", url=server.url, token_file=token_file, replacement=replacement
        )
        state = State()
        site = Site(Metrics(), clock, state, node=NODE, boot_id="boot-1", run_dir=directory)
        async with opened(config, site) as road:
            yield server, site, road


def _finished(server: FakeApiServer) -> list[str]:
    """Play the kubelet; return the pods that are left."""
    for name in server.cluster.terminating():
        server.cluster.finish_pod(name)
    return server.cluster.pods()


async def _carried_out(action: Action, standing: Standing, clock: TurnedClock) -> None:
    while True:
        try:
            await action.run(standing)
        except ActionWaiting:
            clock.turn(1)
        else:
            return


async def test_daemon_does_with_the_api_server_what_its_account_may_and_nothing_else(
    tmp_path: Path,
) -> None:
    """It hears its Node, protects it, drains it to the end, and undoes what can be undone."""
    clock = TurnedClock()
    async with deployed(clock, tmp_path) as (server, site, road):
        (source,) = road.sources
        inbox: asyncio.Queue[Notice] = asyncio.Queue()
        hearing = asyncio.create_task(keep_running(source, inbox, clock))
        await eventually(lambda: server.watches)
        server.cluster.add_pod("agent", NODE, owner="DaemonSet")
        server.cluster.add_pod("free", NODE)
        server.cluster.add_pod("blocked", NODE, labels=WEB)
        server.cluster.add_budget("web", WEB, allowed=0)
        spot = in_force(left_s=30)
        admitted(site.state, spot)
        for action in road.actions[:-1]:
            await action.run(spot)
        draining = asyncio.create_task(_carried_out(road.actions[-1], spot, clock))
        await eventually(lambda: _finished(server) == ["agent"])
        await draining
        withdrawn(site.state, spot)
        for action in road.actions:
            await action.undo(spot)
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        await eventually(lambda: not server.watches)
        assert server.access.used(account(WATCHER)) == allowed(server)
        assert {call.status for call in server.access.calls} <= {0, 200, 201, 429}


async def test_daemon_needs_no_right_more_when_it_asks_for_another_node(tmp_path: Path) -> None:
    """By a label or a condition; what the base's policy forbids it takes for a refusal."""
    clock = TurnedClock()
    async with deployed(clock, tmp_path, replacement="condition:NodeFaulty=True") as at:
        server, site, road = at
        request = in_force("request-1", NoticeKind.NODE_REQUEST, left_s=30)
        admitted(site.state, request)
        for action in road.actions:
            await _carried_out(action, request, clock)
        conditions = server.cluster.node(NODE)["status"]["conditions"]
        assert "NodeFaulty" in {one["type"] for one in conditions}
        assert server.access.used(account(WATCHER)) <= allowed(server)
    async with deployed(clock, tmp_path, replacement="hyperpod") as at:
        server, site, road = at
        admitted(site.state, request)
        with pytest.raises(ActionRefused, match="ask nobody"):
            await road.actions[-1].run(request)


async def test_relay_does_with_the_api_server_what_its_account_may_and_nothing_else(
    tmp_path: Path,
) -> None:
    """It learns which Node is the machine, and writes on it."""
    (tmp_path / "token").write_text(TOKEN)
    async with fake_api_server() as server:
        server.access.subjects[TOKEN] = subject(RELAY, "node-of-the-relay")
        server.api.policies += policies_of(objects())
        server.cluster.add_node(NODE, provider_id="aws:///eu-west-1a/i-0123")
        config = KubernetesConfig(url=server.url, token_file=tmp_path / "token")
        async with opened_nodes(config, Metrics()) as handling:
            keeping = [asyncio.create_task(keep()) for keep in handling.keepers]
            await eventually(lambda: server.watches)
            await handling.handler.handle(told())
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
        assert NOTICE in server.cluster.node(NODE)["metadata"]["annotations"]
        await eventually(lambda: not server.watches)
        assert server.access.used(account(RELAY)) == allowed(server)
        assert {call.status for call in server.access.calls} <= {0, 200}
