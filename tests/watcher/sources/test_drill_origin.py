"""Nobody but the drill's own source begins a drill, whatever others say."""

import json
from pathlib import Path

import pytest

from tests.support.clocks import START
from tests.support.kube_nodes import documented
from watcher.errors import SourceMalformed, WatcherError
from watcher.kube.objects import Node, node_of
from watcher.notice import NoticeKind
from watcher.sources.aws_imds import AwsImds
from watcher.sources.aws_sqs import AwsSqs
from watcher.sources.azure_events import AzureEvents
from watcher.sources.gcp_compute import GcpCompute
from watcher.sources.gcp_metadata import GcpMetadataKeys
from watcher.sources.gcp_pubsub import GcpPubsub
from watcher.sources.kubernetes_node import KubernetesNode
from watcher.sources.logind import Logind
from watcher.sources.notice_line import KINDS, Unsaid, parse_line
from watcher.sources.relayed_notice import parse
from watcher.sources.trainer_requests import ROAD as REQUESTS
from watcher.sources.trainer_requests import TrainerRequestsConfig

GOLDEN = Path(__file__).parents[2] / "contract" / "relayed_notice_v1.json"


@pytest.mark.parametrize(
    "kinds",
    [
        AwsImds.kinds,
        AwsSqs.kinds,
        AzureEvents.kinds,
        GcpCompute.kinds,
        GcpMetadataKeys.kinds,
        GcpPubsub.kinds,
        KubernetesNode.kinds,
        Logind.kinds,
        KINDS,
        *REQUESTS.wanted(TrainerRequestsConfig(uids=(1000,))).values(),
    ],
)
def test_no_other_source_knows_of_drills(kinds: frozenset[NoticeKind]) -> None:
    """What a source may not tell of is not taken up from a flag of an earlier run either."""
    assert kinds
    assert NoticeKind.DRILL not in kinds


def test_program_can_not_begin_a_drill() -> None:
    """A line is refused, or says something else."""
    line = json.dumps({"id": "d", "kind": "drill", "window_s": 60}).encode()
    try:
        kind = parse_line(line, START, Unsaid("command", NoticeKind.PREEMPTION)).kind
    except SourceMalformed:
        return
    assert kind is not NoticeKind.DRILL


def test_annotation_of_the_relay_can_not_begin_a_drill() -> None:
    """Nor what is written as if it were the relay's: the same without that kind is heard."""
    text = GOLDEN.read_text()
    node = node_of(documented("coreweave") | {"spec": {"providerID": "aws:///eu-west-1a/i-0123"}})
    forged = json.loads(text)
    for one in forged["notices"]:
        one["kind"] = "drill"
    assert _kinds(text, node)
    assert NoticeKind.DRILL not in _kinds(json.dumps(forged), node)


def _kinds(text: str, node: Node) -> set[NoticeKind]:
    try:
        return {one.told.notice.kind for one in parse(text, node, START).notices}
    except WatcherError:
        return set()
