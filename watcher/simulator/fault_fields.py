"""Faults as they are written in a scenario file or a control message."""

from collections.abc import Mapping
from http import HTTPStatus

from watcher.simulator.faults import MOST_FAULTS, Fault, FaultKind
from watcher.simulator.values import (
    ScenarioError,
    entries,
    one_of,
    refuse_unknown,
    seconds,
    table,
    text,
    whole,
    yes_or_no,
)

MOST_REQUESTS = 1_000_000
"""More than eleven days of one poll a second; who wants more means no count."""

ANSWER_FIELDS = ("kind", "status", "headers", "body", "count", "delay_s")
FAULT_FIELDS = (*ANSWER_FIELDS, "path_prefix", "for_s")
SCRIPT_FIELDS = ("path_prefix", "answers", "last_stays")

_FRAMING = ("connection", "content-encoding", "content-length", "transfer-encoding")
"""Headers that say how long a message is: the server's own. The fault `half_body` belies them."""

_ONLY_WITH = {
    "status": (FaultKind.STATUS, FaultKind.ANSWER),
    "headers": (FaultKind.ANSWER,),
    "body": (FaultKind.ANSWER,),
}


def parse_fault(fields: Mapping[str, object]) -> Fault:
    """Make a fault of named values.

    Raises:
        ScenarioError: A field is unknown, missing or out of its range.
    """
    refuse_unknown("field", fields, FAULT_FIELDS)
    kind = one_of("kind", fields.get("kind"), FaultKind)
    for name, kinds in _ONLY_WITH.items():
        if name in fields and kind not in kinds:
            raise ScenarioError(f"{name} goes with kind {' or '.join(kinds)}, not with {kind}")
    fault = Fault(
        kind=kind,
        status=_status(kind, fields),
        headers=_headers(fields.get("headers", {})),
        body=_body(fields.get("body", "")),
        path_prefix=_path_prefix(fields["path_prefix"]) if "path_prefix" in fields else None,
        count=whole("count", fields["count"], 1, MOST_REQUESTS) if "count" in fields else None,
        for_s=seconds("for_s", fields["for_s"]) if "for_s" in fields else None,
        delay_s=seconds("delay_s", fields.get("delay_s", 0)),
    )
    if fault.kind is FaultKind.SLOW and fault.delay_s == 0:
        raise ScenarioError("a slow answer needs delay_s")
    return fault


def parse_script(fields: Mapping[str, object]) -> tuple[Fault, ...]:
    """Make faults that happen one after the other to the requests for a path.

    Each happens once unless it has a count; the last one may stay until it is lifted. What is not
    said of an answer's kind is `answer`.

    Raises:
        ScenarioError: The path or an answer is missing or can't be used.
    """
    refuse_unknown("field", fields, SCRIPT_FIELDS)
    prefix = _path_prefix(fields.get("path_prefix"))
    answers = entries("answers", fields.get("answers"))
    if not 1 <= len(answers) <= MOST_FAULTS:
        raise ScenarioError(f"answers must be 1 to {MOST_FAULTS}, not {len(answers)}")
    last_stays = yes_or_no("last_stays", fields.get("last_stays", False))
    faults = []
    for number, answer in enumerate(answers, 1):
        stays = last_stays and number == len(answers)
        try:
            faults.append(_scripted(table("it", answer), prefix, stays=stays))
        except ScenarioError as error:
            raise ScenarioError(f"answer {number}: {error}") from error
    return tuple(faults)


def _scripted(answer: Mapping[str, object], prefix: str, *, stays: bool) -> Fault:
    refuse_unknown("field", answer, ANSWER_FIELDS)
    if stays and "count" in answer:
        raise ScenarioError("it stays, so it has no count")
    count = {} if stays else {"count": 1}
    return parse_fault({"kind": FaultKind.ANSWER, **count, **answer, "path_prefix": prefix})


def _status(kind: FaultKind, fields: Mapping[str, object]) -> int:
    if kind is FaultKind.ANSWER:
        return whole("status", fields.get("status", HTTPStatus.OK), 200, 599)
    value = fields.get("status", HTTPStatus.SERVICE_UNAVAILABLE)
    for status in HTTPStatus:
        if status == value and status >= HTTPStatus.BAD_REQUEST:
            return status
    raise ScenarioError(f"status must be an HTTP error, 4xx or 5xx, not {value!r}")


def _headers(value: object) -> dict[str, str]:
    headers = {}
    for name, content in table("headers", value).items():
        is_name = name.isascii() and name.replace("-", "").isalnum()
        if not is_name or name.lower() in _FRAMING or not text(f"header {name}", content).isascii():
            raise ScenarioError(f"the header {name!r}: {content!r} can't be sent")
        headers[name] = str(content)
    return headers


def _body(value: object) -> bytes:
    if not isinstance(value, str):
        raise ScenarioError(f"body must be text, JSON included, not {value!r:.80}")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ScenarioError(f"body can't be sent as UTF-8: {error.reason}") from error


def _path_prefix(value: object) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise ScenarioError(f"path_prefix must start with a slash, not {value!r}")
    return value
