"""What the doctor says of Kubernetes: an account with and without its rights, and odd Nodes."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.kube.access import Rule, Subject, rules_of
from tests.fakes.kube.admission import own_node_only
from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.admission_policies import policies_of
from tests.support.kustomized import DAEMONSET, named, rendered
from watcher.finding import Finding, Verdict
from watcher.kube.replacement import PRESETS
from watcher.kube.rights import HEARING, PROTECTING, Right
from watcher.sources import kubernetes_doctor
from watcher.sources.kubernetes_config import KubernetesConfig
from watcher.sources.kubernetes_doctor import checks
from watcher.sources.road import Patient

NODE, BOOT = "node-a", "boot-1"
TOKEN = "bound-token"  # noqa: S105 - the fake's
ACCOUNT = "system:serviceaccount:reprieve-system:reprieve-watcher"
BASIC = Rule(["create"], ["selfsubjectaccessreviews"], groups=["authorization.k8s.io"])
"""What everybody may."""

PATIENT = Patient(node=NODE, boot_id=BOOT)


def as_shipped() -> tuple[Rule, ...]:
    """Return the rules of the shipped roles."""
    objects = rendered(DAEMONSET / "base")
    everywhere = rules_of(named(objects, "ClusterRole", "reprieve-watcher"))
    return everywhere + rules_of(named(objects, "Role", "reprieve-watcher"), "default")


@pytest.fixture(autouse=True)
def patient_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is slow, and no fault of the server's."""
    monkeypatch.setattr(kubernetes_doctor, "LIMIT_S", 20.0)


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    """A cluster with this Node, and an account with what is shipped."""
    async with fake_api_server() as server:
        server.cluster.add_node(NODE, boot_id=BOOT)
        server.access.subjects[TOKEN] = Subject("reprieve", (*as_shipped(), BASIC), node=NODE)
        yield server


async def found_by(
    server: FakeApiServer,
    directory: Path,
    patient: Patient = PATIENT,
    *,
    replacement: str = "off",
) -> dict[str, Finding]:
    """Return the findings by what was checked; the server by two words."""
    (directory / "token").write_text(TOKEN)
    config = KubernetesConfig(
        url=server.url, token_file=directory / "token", replacement=replacement
    )
    findings: Sequence[Finding] = await checks(config, patient)
    return {one.checked.partition(" at ")[0]: one for one in findings}


def verdicts(findings: Mapping[str, Finding]) -> dict[str, Verdict]:
    """Return the verdicts alone."""
    return {name: one.verdict for name, one in findings.items()}


async def test_everything_is_ok_and_nothing_changed_when_all_is_as_shipped(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """Every write is a dry run: no pod ends, and the Node's version is the old one."""
    server.cluster.add_pod("agent", NODE, owner="DaemonSet")
    server.cluster.add_pod("web", NODE)
    version = server.cluster.node(NODE)["metadata"]["resourceVersion"]
    findings = await found_by(server, tmp_path)
    assert set(verdicts(findings).values()) == {Verdict.OK}, findings
    assert findings["API server"].found == "answers, v1.36.0"
    assert findings["evictions"].found.endswith("a dry run with team-a/web shows")
    assert server.cluster.node(NODE)["metadata"]["resourceVersion"] == version
    assert server.cluster.terminating() == []
    writes = [one for one in server.access.calls if one.verb in ("create", "patch", "delete")]
    assert {one.query.get("dryRun") for one in writes} == {"All"}


def test_rights_are_those_that_are_shipped() -> None:
    """Neither asks for more than the other: the manifest's words are compared one by one."""
    granted = {
        Right(verb, resource, rule.namespace)
        for rule in as_shipped()
        for verb in rule.verbs
        for resource in rule.resources
    }
    assert {*HEARING, *PROTECTING} == granted


@pytest.mark.parametrize("lost", [*HEARING, *PROTECTING], ids=str)
async def test_missing_right_is_named_when_the_account_has_not_got_it(
    server: FakeApiServer, tmp_path: Path, lost: Right
) -> None:
    """Each by itself, as kubectl would say it."""
    rules = [
        replace(rule, verbs=[verb], resources=[resource])
        for rule in as_shipped()
        for verb in rule.verbs
        for resource in rule.resources
        if Right(verb, resource, rule.namespace) != lost
    ]
    server.access.subjects[TOKEN] = Subject("reprieve", (*rules, BASIC), node=NODE)
    found = (await found_by(server, tmp_path))["rights of the account"]
    assert (found.verdict, found.found) == (Verdict.WRONG, f"may not {lost}")
    assert "kubectl apply" in found.todo


async def test_node_is_wrong_when_the_cluster_has_none_of_its_name(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """A host's name that is not the Node's is the usual cause."""
    findings = await found_by(server, tmp_path, Patient(node="host-7", boot_id=BOOT))
    assert findings["Node host-7"].verdict is Verdict.WRONG
    assert "spec.nodeName" in findings["Node host-7"].todo
    assert "evictions" not in findings


async def test_node_is_wrong_when_it_is_another_machine(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """Its boot id says so."""
    findings = await found_by(server, tmp_path, Patient(node=NODE, boot_id="boot-2"))
    assert findings[f"Node {NODE}"].verdict is Verdict.WRONG


async def test_mark_is_wrong_when_a_policy_denies_what_the_rules_allow(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """A token that names no node may write no Node, whatever its rights say."""
    server.api.policies.append(own_node_only(protected=[]))
    server.access.subjects[TOKEN] = Subject("reprieve", (*as_shipped(), BASIC), node="node-b")
    findings = await found_by(server, tmp_path)
    assert findings["rights of the account"].verdict is Verdict.OK
    assert findings["marks on the Node"].verdict is Verdict.WRONG
    assert "admission.yaml" in findings["marks on the Node"].todo


@pytest.mark.parametrize("replacement", ["hyperpod", "gke"])
async def test_replacement_is_wrong_when_the_shipped_policy_forbids_its_label(
    server: FakeApiServer, tmp_path: Path, replacement: str
) -> None:
    """It would be found on the day that a trainer asks; every mark besides is accepted."""
    server.access.subjects[TOKEN] = Subject(ACCOUNT, (*as_shipped(), BASIC), node=NODE)
    server.api.policies += policies_of(rendered(DAEMONSET / "base"))
    findings = await found_by(server, tmp_path, replacement=replacement)
    asked = findings[f"label {PRESETS[replacement].key}, which asks for another Node"]
    assert asked.verdict is Verdict.WRONG
    assert "may ask nobody" in asked.found
    assert "ask-hyperpod" in asked.todo
    assert findings["marks on the Node"].verdict is Verdict.OK


@pytest.mark.parametrize(
    ("replacement", "name"),
    [
        ("gke", "label cloud.google.com/fault-behavior"),
        ("label:example.com/replace=true", "label example.com/replace"),
        ("condition:NodeFaulty=True", "condition NodeFaulty"),
    ],
)
async def test_replacement_is_tried_and_not_asked_for_when_it_is_allowed(
    server: FakeApiServer, tmp_path: Path, replacement: str, name: str
) -> None:
    """Who reads the word ends the machine, so the doctor must not leave it there."""
    before = server.cluster.node(NODE)
    findings = await found_by(server, tmp_path, replacement=replacement)
    assert findings[f"{name}, which asks for another Node"].verdict is Verdict.OK
    assert server.cluster.node(NODE) == before


async def test_replacement_is_not_tried_when_nobody_is_to_be_asked(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """The default."""
    assert not [name for name in await found_by(server, tmp_path) if "another Node" in name]


async def test_eviction_is_ok_when_a_budget_holds_the_pod(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """The right is there, and the drain waits for the budget as it should."""
    server.cluster.add_pod("web", NODE, labels={"app": "web"})
    server.cluster.add_budget("web", {"app": "web"}, allowed=0)
    found = (await found_by(server, tmp_path))["evictions"]
    assert found.verdict is Verdict.OK
    assert "now a budget holds team-a/web" in found.found


async def test_eviction_is_unknown_when_no_pod_is_there(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """Nothing is tried on pods of DaemonSets, which a drain leaves alone."""
    server.cluster.add_pod("agent", NODE, owner="DaemonSet")
    found = (await found_by(server, tmp_path))["evictions"]
    assert found.verdict is Verdict.UNKNOWN


async def test_only_the_cause_is_told_when_the_token_is_not_good(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """And no token is shown."""
    del server.access.subjects[TOKEN]
    findings = await found_by(server, tmp_path)
    assert verdicts(findings) == {"API server": Verdict.WRONG}
    assert "401" in findings["API server"].found
    assert TOKEN not in str(findings)


async def test_nothing_is_known_when_the_server_breaks_off(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """Unknown is neither right nor wrong."""
    server.cluster.add_pod("web", NODE)
    server.faults.add(Trouble.RESET)
    findings = await found_by(server, tmp_path)
    answered = findings.pop("API server")
    assert answered.verdict is Verdict.OK
    assert set(verdicts(findings).values()) == {Verdict.UNKNOWN}


async def test_nothing_is_said_when_the_node_is_off(server: FakeApiServer, tmp_path: Path) -> None:
    """But that a token is missing is, where an API server is named."""
    assert await checks(KubernetesConfig(), PATIENT) == []
    off = KubernetesConfig(url=server.url, node="off", watch="off")
    assert await checks(off, PATIENT) == []
    tokenless = KubernetesConfig(url=server.url, token_file=tmp_path / "none")
    (found,) = await checks(tokenless, PATIENT)
    assert found.verdict is Verdict.UNKNOWN
    assert server.access.calls == []
