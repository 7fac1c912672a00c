"""Fuzzed too: what a run reads beside its flag file: HTTP answers, DCP's index, its own ledger.

A ledger is read by the `report` that people ask for, to its last word.
"""

import json
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress

import torch
from torch.distributed.checkpoint import metadata as dcp
from torch.distributed.checkpoint.filesystem import _StorageInfo

from tests.fuzz.on_node import written
from trainer_hooks.checkpoint.metadata import SafeReader
from trainer_hooks.errors import (
    CheckpointError,
    ConfigError,
    FlagError,
    NoticeUnknownError,
    UntrustedFileError,
)
from trainer_hooks.notice_url import NoticeUrl, _body, _told
from trainer_hooks.waste.report import make_report
from trainer_hooks.waste.report_json import report_json
from trainer_hooks.waste.report_text import report_text

URL = NoticeUrl("10.0.0.1", 9766, "/v1/notice")


def _answer(data: bytes) -> None:
    """Read these bytes as the body of an answer, and as all that came over the connection."""
    with suppress(NoticeUnknownError, FlagError):
        _told(data, URL).notice()
    with suppress(NoticeUnknownError, FlagError):
        _told(_body(data, URL), URL).notice()


def _index(data: bytes) -> None:
    with suppress(CheckpointError):
        SafeReader(written("index", ".metadata", data)).read_metadata()


def _ledger(data: bytes) -> None:
    root = written("run/.ledger", "a0-5f3c.jsonl", data).parent
    with suppress(ConfigError, UntrustedFileError):
        report = make_report(root)
        report_text(report)
        json.dumps(report_json(report), allow_nan=False)


def _real_index() -> bytes:
    """Return an index of a tensor in two pieces."""
    piece = torch.Size([2, 3])
    at = [torch.Size([0, 0]), torch.Size([2, 0])]
    tensor = dcp.TensorStorageMetadata(
        properties=dcp.TensorProperties(dtype=torch.bfloat16),
        size=torch.Size([4, 3]),
        chunks=[dcp.ChunkStorageMetadata(offset, piece) for offset in at],
    )
    stored = {
        dcp.MetadataIndex("weight", offset): _StorageInfo("__0_0.distcp", 12 * number, 12)
        for number, offset in enumerate(at)
    }
    return pickle.dumps(dcp.Metadata({"weight": tensor}, storage_data=stored))


ON_RUN: Mapping[str, Callable[[bytes], None]] = {
    "run-http-answer": _answer,
    "run-index": _index,
    "run-ledger": _ledger,
}
"""By name. None may raise anything."""

RUN_SEEDS: Mapping[str, bytes] = {
    "index": _real_index(),
    "ledger": b"""\
{"what":"begin","schema":1,"at":1000.0,"attempt":0,"token":"5f3c","gpus":8,"nodes":1,"resumed_step":0}
{"what":"part","part":"load","began":1000.0,"ended":1005.5}
{"what":"steps","first":0,"end":100,"began":1005.5,"ended":1105.5,"straggler_s":1.5}
{"what":"save","step":100,"began":1105.5,"ended":1106.5,"waited_s":0.5}
{"what":"commit","step":100,"at":1110.0}
{"what":"notice","at":1111.0,"id":"aws-spot:a","urgency":"stop"}
{"what":"finding","at":1112.0,"guard":"straggler","step":100,"text":"rank 1 by 29 ms"}
{"what":"phase","at":1113.0,"phase":"compute","steps":100,"ranks":8,"median_s":0.5,"most_s":0.6,"rank":1}
{"what":"end","at":1120.0,"outcome":"preempted","step":100}
""",
    "http": b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n"
    b'{"schema": 1, "seq": 7, "notice": null}\n',
}
"""What fuzzing begins with there."""
