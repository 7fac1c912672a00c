"""Whether a Node is this machine."""

from dataclasses import replace

import pytest

from watcher.actions.node_identity import Verdict, judge
from watcher.kube.objects import node_of

AWS = "aws:///eu-west-1a/i-0123456789abcdef0"
GCP = "gce://my-proj/europe-west1-b/node-1"
VMSS = (
    "azure:///subscriptions/s/resourceGroups/mc_rg/providers/Microsoft.Compute/"
    "virtualMachineScaleSets/pool/virtualMachines/3"
)
VM = "azure:///subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/gpu-7"

BARE = node_of({"metadata": {"name": "n", "uid": "u", "resourceVersion": "1"}})


@pytest.mark.parametrize(
    ("provider_id", "facts", "other"),
    [
        (AWS, {"instanceId": "i-0123456789abcdef0"}, {"instanceId": "i-0fffffffffffffff0"}),
        (GCP, {"name": "node-1", "zone": "europe-west1-b"}, {"name": "node-2"}),
        (VMSS, {"name": "pool_3"}, {"name": "pool_30"}),
        (VM, {"name": "GPU-7"}, {"name": "gpu-8"}),
    ],
    ids=["aws", "gcp", "vmss", "vm"],
)
def test_node_is_told_by_the_clouds_id_whatever_the_boot_id_says(
    provider_id: str, facts: dict[str, str], other: dict[str, str]
) -> None:
    """The boot id lags behind after a reboot, and differs within a sandbox."""
    node = replace(BARE, provider_id=provider_id, boot_id="boot-0")
    assert judge(node, facts, "boot-1")[0] is Verdict.OWN
    verdict, why = judge(replace(node, boot_id="boot-1"), other, "boot-1")
    assert verdict is Verdict.ANOTHER
    assert provider_id in why


@pytest.mark.parametrize("facts", [{}, {"instanceId": "i-1"}])
@pytest.mark.parametrize("provider_id", ["", "kind://docker/kind/kind-worker", GCP])
def test_node_is_told_by_the_boot_id_when_no_id_of_the_clouds_is_known(
    provider_id: str, facts: dict[str, str]
) -> None:
    """Another boot's is not yet ours: the kubelet says it only some seconds after a reboot."""
    node = replace(BARE, provider_id=provider_id)
    assert judge(replace(node, boot_id="boot-1"), facts, "boot-1")[0] is Verdict.OWN
    assert judge(replace(node, boot_id="boot-0"), facts, "boot-1")[0] is Verdict.NOT_YET
    assert judge(node, facts, "boot-1")[0] is Verdict.UNKNOWN
