"""Who may begin a drill of a Node's trainers, by the component that allows it."""

from collections.abc import AsyncIterator, Mapping

import pytest

from tests.fakes.kube.access import ADMIN, Subject, Target, rules_of
from tests.fakes.kube.admission import Request
from tests.fakes.kube.kinds import NODE
from tests.fakes.kube.refusals import Refusal
from tests.support.admission_policies import policies_of
from tests.support.kube import NODES, Kube, running_kube
from tests.support.kustomized import BASE, DAEMONSET, Manifest, composed, named
from watcher.kube.keys import DRILL

ACCOUNTS = "system:serviceaccount:reprieve-system:"
GROUP = "reprieve:drillers"
VALUE = "2026-11-30T10:00:00Z/120"

BEGUN = {"metadata": {"annotations": {DRILL: VALUE}}}
ANOTHER = {"metadata": {"annotations": {DRILL: VALUE.replace("120", "30")}}}
REMOVED = {"metadata": {"annotations": {DRILL: None}}}
OTHERS = {"metadata": {"annotations": {"a": "b"}}}
HERS = {"metadata": {"annotations": {"theirs": "changed"}}}
TAKEN = {"metadata": {"annotations": {"theirs": None}}}
LABEL = {"metadata": {"labels": {"a": "b"}}}
KEPT = {"metadata": {"finalizers": ["example.com/keep"]}}
CORDON = {"spec": {"unschedulable": True}}


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Manifest]:
    """Return what is applied: rendered once, as kubectl takes its time."""
    component = DAEMONSET / "components" / "drill"
    return composed(tmp_path_factory.mktemp("drill"), [BASE], [component])


@pytest.fixture
async def kube(objects: list[Manifest]) -> AsyncIterator[Kube]:
    """A Node, the policies of base and component, and the group with the rights it is given."""
    rules = rules_of(named(objects, "ClusterRole", "reprieve-drill"))
    async with running_kube() as kube:
        kube.server.access.subjects |= {
            ADMIN: Subject("admin"),
            "driller": Subject("ada", rules, groups=(GROUP,)),
            "chief": Subject("eve", groups=(GROUP, "system:masters")),
            "stranger": Subject("bob", rules, groups=("system:authenticated",)),
            "kubelet": Subject("system:node:node-a", groups=("system:nodes",)),
            "relay": Subject(f"{ACCOUNTS}reprieve-relay", node="node-b"),
            "watcher": Subject(f"{ACCOUNTS}reprieve-watcher", node="node-a"),
        }
        kube.server.api.policies += policies_of(objects)
        kube.cluster.add_node("node-a")
        kube.cluster.mark_node("node-a", annotations={"theirs": "kept"}, labels={"zone": "z"})
        yield kube


@pytest.mark.parametrize(
    ("token", "patch", "status"),
    [
        ("driller", BEGUN, 200),
        ("chief", BEGUN, 200),
        (ADMIN, BEGUN, 422),
        ("stranger", BEGUN, 422),
        ("kubelet", BEGUN, 422),
        ("relay", BEGUN, 422),
        ("watcher", BEGUN, 422),
        (ADMIN, LABEL, 200),
        ("kubelet", LABEL, 200),
        ("watcher", LABEL, 200),
    ],
)
async def test_drill_is_begun_by_the_group_alone(
    kube: Kube, token: str, patch: object, status: int
) -> None:
    """Whatever else one may do to Nodes."""
    kube.token = token
    assert (await kube.patch(f"{NODES}/node-a", patch)).status == status


def test_drill_is_not_begun_through_the_status_either(objects: list[Manifest]) -> None:
    """Real API servers take metadata through the subresource as well; our fake does not."""
    before = {"metadata": {"name": "node-a"}}
    target = Target("patch", NODE, "status", name="node-a")
    request = Request(Subject("system:node:node-a"), target, before, before | BEGUN)
    refusals = []
    for policy in policies_of(objects):
        try:
            policy(request)
        except Refusal as refusal:
            refusals.append(refusal.message)
    (why,) = refusals
    assert "reprieve-drill-by-drillers" in why


@pytest.mark.parametrize(
    ("token", "patch", "status"),
    [
        ("driller", ANOTHER, 200),
        ("driller", REMOVED, 200),
        (ADMIN, ANOTHER, 422),
        (ADMIN, REMOVED, 200),
        ("watcher", REMOVED, 422),
        ("watcher", LABEL, 200),
    ],
)
async def test_drill_is_ended_by_anybody_and_prolonged_by_the_group_alone(
    kube: Kube, token: str, patch: object, status: int
) -> None:
    """The watcher has no business with it: it would hide who has begun what."""
    kube.token = "driller"  # noqa: S105 - no secret
    assert (await kube.patch(f"{NODES}/node-a", BEGUN)).status == 200
    kube.token = token
    assert (await kube.patch(f"{NODES}/node-a", patch)).status == status


@pytest.mark.parametrize("patch", [CORDON, LABEL, OTHERS, HERS, TAKEN, KEPT])
async def test_group_can_do_nothing_but_drill_with_its_right_to_patch(
    kube: Kube, patch: dict[str, object]
) -> None:
    """Not beside a drill either."""
    kube.token = "driller"  # noqa: S105 - no secret
    for given in (patch, _merged(patch, BEGUN)):
        refused = await kube.patch(f"{NODES}/node-a", given)
        assert (refused.status, "reprieve:drillers" in refused.body["message"]) == (422, True)
    kube.token = "chief"  # noqa: S105 - no secret
    assert (await kube.patch(f"{NODES}/node-a", patch)).status == 200


async def test_refusal_says_who_may_begin_a_drill(kube: Kube) -> None:
    """People read it."""
    refused = await kube.patch(f"{NODES}/node-a", BEGUN)
    assert f"only the group {GROUP} may write the annotation {DRILL}" in refused.body["message"]


def test_policies_are_bound_and_the_group_has_its_role(objects: list[Manifest]) -> None:
    """One that nobody binds judges nothing."""
    for name in ("reprieve-drill-by-drillers", "reprieve-drillers-only-drill"):
        bound: Manifest = named(objects, "ValidatingAdmissionPolicyBinding", name)["spec"]
        assert bound == {"policyName": name, "validationActions": ["Deny"]}
    (subject,) = named(objects, "ClusterRoleBinding", "reprieve-drill")["subjects"]
    assert (subject["kind"], subject["name"]) == ("Group", GROUP)


def _merged(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    """Return both patches as one, two levels deep."""
    made = dict(one)
    for key, value in other.items():
        mine = made.get(key)
        if isinstance(mine, dict) and isinstance(value, dict):
            made[key] = _merged(mine, value)
        else:
            made[key] = value
    return made
