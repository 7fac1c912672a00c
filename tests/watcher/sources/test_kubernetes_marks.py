"""The table of marks: each row with a real object, and what only looks like one."""

from typing import Any

import pytest

from tests.support.clocks import START
from tests.support.kube_nodes import BOOT_ID, DATA, documented, marked
from watcher.actions.node_asking import Asked
from watcher.actions.node_state import Done, NodeState, compose
from watcher.kube.keys import PREFIX, STATE
from watcher.kube.replacement import PRESETS, Ask
from watcher.notice import Notice
from watcher.policy import POLICY
from watcher.sources.kubernetes_marks import ROWS
from watcher.sources.kubernetes_object import marks_of
from watcher.sources.kubernetes_windows import LONGEST_S

MEANS: dict[str, list[tuple[str, float | None]]] = {
    "karpenter-disrupted": [("termination", None)],
    "karpenter-v1beta1": [("termination", None)],
    "cluster-autoscaler": [("termination", None)],
    "gke-impending": [("preemption", None)],
    "gke-maintenance-ongoing": [("maintenance", None)],
    "gke-maintenance-scheduled": [("maintenance", 86_400)],
    "eks-nth-spot": [("preemption", None)],
    "eks-nth-maintenance": [("maintenance", None)],
    "eks-nth-asg": [("termination", None)],
    "eks-nth-rebalance": [("rebalance", None)],
    "eks-repair": [("hardware", 594)],
    "aks-drained": [("termination", None)],
    "aks-preempt": [("preemption", 30), ("preemption", 30)],
    "aks-freeze": [("live_migration", 900), ("live_migration", 900)],
    "aks-redeploy": [("maintenance", 600), ("maintenance", 600)],
    "aks-reboot": [("maintenance", 900), ("maintenance", 900)],
    "aks-terminate": [("termination", 300), ("termination", 300)],
    "aks-unknown": [("rebalance", None)],
    "hyperpod-replacement": [("hardware", None)],
    "hyperpod-reboot": [("hardware", None)],
    "coreweave": [("preemption", None)],
    "kubelet-shutdown": [("shutdown", None)],
    "nothing": [],
}
"""Kinds, and seconds to the deadline, by documented object."""


def _left_s(notice: Notice) -> float | None:
    return notice.deadline.left_s(START) if notice.deadline else None


@pytest.mark.parametrize("name", MEANS)
def test_node_means_what_its_owner_documents(name: str) -> None:
    """Kind and deadline; the node's identity, a cordon and our own marks mean nothing."""
    notices = marked(documented(name))
    assert [(notice.kind, _left_s(notice)) for notice in notices] == MEANS[name]
    assert {notice.source for notice in notices} <= {"kubernetes_node"}
    is_odd = ["malformed" in notice.detail for notice in notices]
    assert is_odd == [name == "aks-unknown"] * len(notices)


def test_every_row_has_an_object_and_every_object_a_test() -> None:
    """A row that no object fits would be a guess."""
    assert {path.stem for path in DATA.glob("*.json")} == set(MEANS)
    there = {(mark.place, mark.key) for name in MEANS for mark in marks_of(documented(name))}
    assert {(row.place, row.key) for row in ROWS} <= there


def test_rows_are_of_others_and_of_kinds_with_a_policy_and_a_window() -> None:
    """Nothing of ours is in the table, and what states a time has a limit to it."""
    assert [row for row in ROWS if row.key.startswith(PREFIX) or "Reclaim" in row.key] == []
    assert {row.kind for row in ROWS} <= set(POLICY)
    assert {row.kind for row in ROWS if row.due} <= set(LONGEST_S)


def test_notice_is_the_same_at_every_look_and_another_when_the_value_is() -> None:
    """A maintenance that is moved is another notice; another Node has notices of its own."""
    obj = documented("gke-maintenance-scheduled")
    (first,), (again,) = marked(obj), marked(obj)
    assert first == again
    obj["metadata"]["labels"]["cloud.google.com/scheduled-maintenance-time"] = "1796119507"
    assert marked(obj)[0].id != first.id
    obj["metadata"]["uid"] = "another"
    assert len({first.id, marked(obj)[0].id}) == 2


@pytest.mark.parametrize("said", ["", "soon", "-5", "99999999999", "999999999999999"])
def test_mark_is_a_notice_when_its_time_can_not_be_read(said: str) -> None:
    """With its kind's window, or at most with the longest that is believed, and it says so."""
    obj = documented("gke-maintenance-scheduled")
    obj["metadata"]["labels"]["cloud.google.com/scheduled-maintenance-time"] = said
    (notice,) = marked(obj)
    is_read = said == "99999999999"
    assert (_left_s(notice) == LONGEST_S[notice.kind]) is is_read
    assert ("malformed" in notice.detail) is not is_read


def test_condition_says_nothing_when_it_is_of_another_boot() -> None:
    """The kubelet's last words before a reboot stand until it is up again; labels stay."""
    assert marked(documented("kubelet-shutdown"), boot_id="the next") == ()
    assert len(marked(documented("coreweave"), boot_id="the next")) == 1
    obj = documented("kubelet-shutdown")
    obj["status"]["nodeInfo"]["bootID"] = ""
    assert len(marked(obj)) == 1


def test_taint_is_one_notice_when_it_has_both_hard_effects() -> None:
    """Karpenter might evict as well; it is one fact."""
    obj = documented("karpenter-disrupted")
    obj["spec"]["taints"].append({"key": "karpenter.sh/disrupted", "effect": "NoExecute"})
    assert len(marked(obj)) == 1


DISRUPTED = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("damage", "kinds"),
    [
        ({"status": {"conditions": [{}, {"type": "Ready", "status": 1}]}}, ["preemption"]),
        ({"spec": {}}, ["preemption"]),
        (
            {
                "metadata": {"name": "n", "uid": "u", "resourceVersion": "1", "labels": None},
                "spec": {"taints": [DISRUPTED]},
            },
            ["termination"],
        ),
        (
            {"spec": {"taints": [{}, {"key": 3, "effect": "NoSchedule"}, DISRUPTED]}},
            ["termination", "preemption"],
        ),
    ],
    ids=["conditions", "spec", "labels", "taints"],
)
def test_marks_are_read_when_parts_of_the_object_are_missing_or_odd(
    damage: dict[str, Any], kinds: list[str]
) -> None:
    """Everything else on the Node is still heard."""
    assert [one.kind for one in marked(documented("coreweave") | damage)] == kinds


@pytest.mark.parametrize(
    ("claim", "ask", "count"),
    [
        (True, PRESETS["hyperpod"], 0),
        (False, PRESETS["hyperpod"], 1),
        (True, PRESETS["gke"], 1),
        (True, None, 1),
    ],
)
def test_label_by_which_we_ask_for_another_node_is_no_notice(
    *, claim: bool, ask: Ask | None, count: int
) -> None:
    """It is told of by the trainer's request; HyperPod's own is one, whatever others claim."""
    obj = documented("hyperpod-replacement")
    preset = PRESETS["hyperpod"]
    asked = Asked(place=preset.place, key=preset.key, value=preset.value)
    state = NodeState(boot_id=BOOT_ID, notice={}, done=Done(asked=asked if claim else None))
    obj["metadata"]["annotations"][STATE] = compose(state)
    assert len(marked(obj, ask=ask)) == count
