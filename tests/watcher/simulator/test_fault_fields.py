"""How faults and scripts are written, and which are refused."""

from http import HTTPStatus

import pytest

from watcher.simulator.fault_fields import parse_fault, parse_script
from watcher.simulator.faults import Fault, FaultKind
from watcher.simulator.values import ScenarioError


def test_parse_fault_fills_in_the_rest_when_only_the_kind_is_given() -> None:
    """Every path of the cloud, until lifted, at once."""
    assert parse_fault({"kind": "status"}) == Fault(
        kind=FaultKind.STATUS,
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        path_prefix=None,
        count=None,
        for_s=None,
        delay_s=0,
    )


def test_parse_fault_takes_every_field_when_all_are_given() -> None:
    """No field is dropped on the way."""
    fields = {
        "kind": "status",
        "status": 429,
        "path_prefix": "/latest/api/",
        "count": 3,
        "for_s": 9,
        "delay_s": 0.5,
    }
    assert parse_fault(fields) == Fault(
        kind=FaultKind.STATUS,
        status=HTTPStatus.TOO_MANY_REQUESTS,
        path_prefix="/latest/api/",
        count=3,
        for_s=9,
        delay_s=0.5,
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "kind must be one of"),
        ({"kind": "explode"}, "'explode'"),
        ({"kind": []}, "kind must be one of"),
        ({"kind": "status", "status": 200}, "4xx or 5xx"),
        ({"kind": "status", "status": 999}, "999"),
        ({"kind": "status", "status": "503"}, "'503'"),
        ({"kind": "status", "status": []}, "4xx or 5xx"),
        ({"kind": "hang", "counts": 1}, "the nearest known one is count;"),
        ({"kind": "status", "body": "x"}, "body goes with kind answer, not with status"),
        ({"kind": "slow", "headers": {}}, "headers goes with kind answer"),
        ({"kind": "answer", "status": 199}, "from 200 to 599"),
        ({"kind": "answer", "status": True}, "from 200 to 599"),
        ({"kind": "answer", "body": 5}, "body must be text"),
        ({"kind": "answer", "body": "\ud800"}, "can't be sent as UTF-8"),
        ({"kind": "answer", "headers": []}, "headers must be a table"),
        ({"kind": "answer", "headers": {"A": "1\r\nB: 2"}}, "header A must be printable"),
        ({"kind": "answer", "headers": {"A B": "1"}}, "can't be sent"),
        ({"kind": "answer", "headers": {"Content-Length": "5"}}, "can't be sent"),
        ({"kind": "answer", "headers": {"A": "é"}}, "can't be sent"),
        ({"kind": "hang", "status": 503}, "status goes with kind status or answer, not with hang"),
        ({"kind": "hang", "path_prefix": "latest"}, "slash"),
        ({"kind": "hang", "path_prefix": 1}, "slash"),
        ({"kind": "hang", "count": 0}, "count"),
        ({"kind": "hang", "count": 1.5}, "count"),
        ({"kind": "hang", "count": True}, "count"),
        ({"kind": "hang", "count": None}, "count"),
        ({"kind": "hang", "for_s": -1}, "for_s"),
        ({"kind": "hang", "delay_s": "1"}, "delay_s"),
        ({"kind": "slow"}, "needs delay_s"),
    ],
)
def test_parse_fault_gives_the_reason_when_it_refuses(
    fields: dict[str, object], reason: str
) -> None:
    """A mistyped fault must not become another fault, or none."""
    with pytest.raises(ScenarioError, match=reason):
        parse_fault(fields)


def test_parse_fault_takes_an_answer_whole() -> None:
    """Status, headers and body as they are to be sent; 200 unless said otherwise."""
    written = {"kind": "answer", "headers": {"Retry-After": "1"}, "body": "\ufeff{}"}
    assert parse_fault(written) == Fault(
        kind=FaultKind.ANSWER,
        status=200,
        headers={"Retry-After": "1"},
        body=b"\xef\xbb\xbf{}",
    )


def test_parse_script_makes_a_fault_of_each_answer() -> None:
    """Once each unless counted; the last one may stay; the path is the same for all."""
    item = "/latest/meta-data/spot/instance-action"
    answers = [{"kind": "status", "status": 503, "count": 3}, {"kind": "hang"}, {"body": "{}"}]
    script = {"path_prefix": item, "answers": answers}
    first, second, third = parse_script(script)
    assert first == Fault(kind=FaultKind.STATUS, path_prefix=item, count=3)
    assert second == Fault(kind=FaultKind.HANG, path_prefix=item, count=1)
    assert third == Fault(kind=FaultKind.ANSWER, status=200, body=b"{}", path_prefix=item, count=1)
    *_, stays = parse_script(script | {"last_stays": True})
    assert stays.count is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "path_prefix must start"),
        ({"answers": 5}, "answers must be a list"),
        ({"answers": []}, "answers must be 1 to 100, not 0"),
        ({"answers": [{}] * 101}, "answers must be 1 to 100, not 101"),
        ({"answers": [{}, 5]}, "answer 2: it must be a table"),
        ({"answers": [{"status": "x"}]}, "answer 1: status must be"),
        ({"answers": [{"for_s": 1}]}, "answer 1: unknown field 'for_s'"),
        ({"answers": [{"count": 2}], "last_stays": True}, "it stays, so it has no count"),
        ({"answers": [{}], "last_stays": 1}, "true or false"),
        ({"answers": [{}], "loop": True}, "unknown field 'loop'"),
    ],
)
def test_parse_script_gives_the_place_when_it_refuses(
    fields: dict[str, object], reason: str
) -> None:
    """Which answer it is, and what is wrong with it."""
    path = {"path_prefix": "/latest/"} if fields else {}
    with pytest.raises(ScenarioError, match=reason):
        parse_script(path | fields)
