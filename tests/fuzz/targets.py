"""What is fuzzed: every parser that is fed by somebody else, as a function of bytes."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from watcher.errors import GcpCallFailed, SourceMalformed
from watcher.explain.answer import Asked, Body
from watcher.explain.bodies import BODIES
from watcher.gcp.metadata import read_token
from watcher.gcp.pubsub import read_message
from watcher.notice import Moment
from watcher.sources.aws_imds_spot import parse_termination_time
from watcher.sources.aws_instance import AwsInstance
from watcher.sources.azure_vm import parse_name
from watcher.sources.gcp_upcoming import says_not_yet
from watcher.sources.gcp_vm import PATHS, GcpVm

RECEIVED = Moment(datetime(2026, 11, 30, 10, 5, 8, 123_457, tzinfo=UTC), 7000.0)
INSTANCE = "i-0beef000000000001"
ASKED = (Asked(received=RECEIVED, instance_id=INSTANCE), Asked(received=RECEIVED))


def _explained(body: Body, data: bytes) -> None:
    """Read a body for one instance, and for whomever it concerns."""
    for asked in ASKED:
        body.explain(data, asked)


def _termination_time(data: bytes) -> None:
    parse_termination_time(data, RECEIVED, INSTANCE)


def _vm_name(data: bytes) -> None:
    parse_name(data)


def _vm_fact(data: bytes) -> None:
    for path in PATHS:
        with suppress(SourceMalformed):
            GcpVm({}).learn(path, data)


def _not_yet(data: bytes) -> None:
    says_not_yet(data)


def _token(data: bytes) -> None:
    with suppress(GcpCallFailed):
        read_token(data)


def _pulled(data: bytes) -> None:
    with suppress(ValueError, RecursionError, GcpCallFailed):
        read_message(json.loads(data))


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    **{name: partial(_explained, body) for name, body in BODIES.items()},
    "aws-imds-termination-time": _termination_time,
    "aws-imds-identity": AwsInstance({}).learn_identity,
    "aws-imds-instance-id": AwsInstance({}).learn_id,
    "aws-imds-life-cycle": AwsInstance({}).learn_life_cycle,
    "azure-vm-name": _vm_name,
    "gcp-not-yet": _not_yet,
    "gcp-pulled": _pulled,
    "gcp-token": _token,
    "gcp-vm": _vm_fact,
}
"""By name. Each may raise SourceMalformed and nothing else."""
