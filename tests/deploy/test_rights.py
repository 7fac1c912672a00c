"""What the daemon may do in a cluster is what it does, and each may do it to its own Node alone."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]  # it has none
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency for one test

from tests.fakes.kube.access import Subject, rules_of
from tests.fakes.kube.admission import own_node_only
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import TurnedClock, eventually
from tests.support.own_node import NODE
from tests.support.standings import admitted, in_force, withdrawn
from watcher.actions.base import Action
from watcher.errors import ActionWaiting
from watcher.kube.keys import NOTICE
from watcher.metrics import Metrics
from watcher.notice import Notice, Standing
from watcher.sources.kubernetes import KubernetesConfig, opened
from watcher.sources.road import Opened, Site
from watcher.state import State
from watcher.supervise import keep_running

BASE = Path(__file__).parents[2] / "deploy" / "daemonset"
TOKEN = "bound-token"  # noqa: S105 - the fake's
ACCOUNT = "system:serviceaccount:reprieve-system:reprieve-watcher"
WEB = {"app": "web"}


@pytest.fixture(scope="module")
def rendered() -> list[dict[str, Any]]:
    """Return every object of the base, as kubectl renders it."""
    kubectl = Path(sys.executable).with_name("kubectl")
    shown = subprocess.run([kubectl, "kustomize", BASE], capture_output=True, check=True)
    return list(yaml.safe_load_all(shown.stdout))


def of_kind(rendered: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the only object of a kind."""
    (found,) = [one for one in rendered if one["kind"] == kind]
    return found


def test_manifests_fit_the_schemas_of_kubernetes(rendered: list[dict[str, Any]]) -> None:
    """Every object, with no field that the API server would not know."""
    for one in rendered:
        kubernetes_validate.validate(one, "1.37", strict=True)


def test_account_is_bound_to_its_roles(rendered: list[dict[str, Any]]) -> None:
    """Names are compared as text by nobody else."""
    account = of_kind(rendered, "ServiceAccount")["metadata"]
    subject = {"kind": "ServiceAccount"} | {key: account[key] for key in ("name", "namespace")}
    for kind in ("Role", "ClusterRole"):
        binding = of_kind(rendered, f"{kind}Binding")
        role = of_kind(rendered, kind)["metadata"]
        assert binding["subjects"] == [subject]
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (kind, role["name"])
        assert binding["metadata"].get("namespace") == role.get("namespace")
    assert f"system:serviceaccount:{account['namespace']}:{account['name']}" == ACCOUNT


def test_policy_is_about_this_account_and_the_relays_annotation(
    rendered: list[dict[str, Any]],
) -> None:
    """Its expressions are not run here: this looks only at the names in them."""
    policy = of_kind(rendered, "ValidatingAdmissionPolicy")
    binding = of_kind(rendered, "ValidatingAdmissionPolicyBinding")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    (condition,) = policy["spec"]["matchConditions"]
    assert condition["expression"] == f"request.userInfo.username == '{ACCOUNT}'"
    of_annotation = [one["expression"] for one in policy["spec"]["variables"][1:]]
    assert all(text.count(f"'{NOTICE}'") == 2 for text in of_annotation)


@asynccontextmanager
async def deployed(
    rendered: list[dict[str, Any]], clock: TurnedClock, directory: Path
) -> AsyncIterator[tuple[FakeApiServer, Site, Opened]]:
    """Open the road as the manifests have it: the account's rights, and the policy."""
    rules = rules_of(of_kind(rendered, "ClusterRole"))
    rules += rules_of(of_kind(rendered, "Role"), "default")
    (directory / "token").write_text(TOKEN)
    async with fake_api_server(lambda: clock().wall) as server:
        server.access.subjects[TOKEN] = Subject(ACCOUNT, rules, node=NODE)
        server.api.policies.append(own_node_only([NOTICE]))
        server.cluster.add_node(NODE, boot_id="boot-1")
        config = KubernetesConfig(node="on", url=server.url, token_file=directory / "token")
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
    rendered: list[dict[str, Any]], tmp_path: Path
) -> None:
    """It hears its Node, protects it, drains it to the end, and undoes what can be undone."""
    clock = TurnedClock()
    async with deployed(rendered, clock, tmp_path) as (server, site, road):
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
        used = server.access.used(ACCOUNT)
        allowed = {
            (verb, group, resource)
            for rule in server.access.subjects[TOKEN].rules
            for verb in rule.verbs
            for group in rule.groups
            for resource in rule.resources
        }
        assert used == allowed
        assert {call.status for call in server.access.calls} <= {0, 200, 201, 429}
