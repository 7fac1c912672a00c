"""Every documented body of AWS's, spoilt in every way: the same fact, refused, or sound."""

import json
import re
from collections.abc import Callable, Iterator

import pytest

from tests.support.aws_every_body import (
    EVERY_BODY,
    Meaning,
    content,
    meaning,
    notices,
    upper_case_keys,
)
from watcher.errors import SourceMalformed

BOM = b"\xef\xbb\xbf"
DEEP = json.loads("[" * 300 + "]" * 300)
REFUSED = "refused"
JSON = [name for name in EVERY_BODY if not name.endswith(".txt")]
OBJECTS = [name for name in JSON if "scheduled" not in name]
FULL = [name for name in JSON if name != "imds/scheduled-none.json"]


def outcome(name: str, body: bytes) -> Meaning | str:
    """Return what a body comes to, refusals included."""
    try:
        return meaning(name, body)
    except SourceMalformed as error:
        why = str(error)
    assert why.isprintable()
    assert len(why) < 500
    return REFUSED


def with_more(body: bytes, value: object) -> bytes:
    """Return a JSON object with one more key, which nobody has documented."""
    return json.dumps({"new-in-2027": value} | json.loads(body)).encode()


SAME: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda body: BOM + body,
    "trailing newline": lambda body: body + b"\n",
    "carriage return": lambda body: body + b"\r\n",
    "white space around": lambda body: b" \t\n" + body + b"  \n",
}
SAME_OBJECT: dict[str, Callable[[bytes], bytes]] = {
    "extra key": lambda body: with_more(body, "x"),
    "extra null": lambda body: with_more(body, None),
    "extra depth": lambda body: with_more(body, DEEP),
    "extra length": lambda body: with_more(body, "x" * 500_000),
    "keys in another order": lambda body: json.dumps(
        dict(reversed(json.loads(body).items()))
    ).encode(),
    "capitals escaped": lambda body: re.sub(
        rb"[A-Z]", lambda found: b"\\u%04x" % ord(found[0]), body
    ),
}
REFUSED_JSON: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _body: b"",
    "first half": lambda body: body[: len(body) // 2],
    "without its end": lambda body: body.rstrip()[:-1],
    "second half": lambda body: body[len(body) // 2 :],
    "twice": lambda body: body + body,
    "invalid utf-8": lambda body: body.replace(b'"', b'"\xff', 1) or b"\xff",
    "utf-8 cut in a letter": lambda body: body.replace(b'"', b'"\xe2\x82', 1),
    "a zero byte": lambda body: body.replace(b":", b"\x00:", 1),
    "single quotes": lambda body: body.replace(b'"', b"'"),
    "keys in capitals": lambda body: json.dumps(upper_case_keys(json.loads(body))).encode(),
    "in a list": lambda body: b"[" + body + b"]",
    "as a text": lambda body: json.dumps(body.decode()).encode(),
    "below a key": lambda body: json.dumps({"document": json.loads(body)}).encode(),
    "in a page": lambda body: b"<html><body>" + body + b"</body></html>",
    "nested too deep": lambda body: body.replace(b":", b":" + b"[" * 100_000, 1),
    "endless number": lambda body: body.replace(b":", b":" + b"9" * 5000 + b',"x":', 1),
    "compressed": lambda _body: b"\x1f\x8b\x08\x00" + b"\x00" * 60,
}


@pytest.mark.parametrize("way", SAME)
@pytest.mark.parametrize("name", EVERY_BODY)
def test_body_is_the_same_fact_when_surrounded(name: str, way: str) -> None:
    """By what editors, shells and proxies add."""
    assert outcome(name, SAME[way](content(name))) == outcome(name, content(name))


@pytest.mark.parametrize("way", SAME_OBJECT)
@pytest.mark.parametrize("name", OBJECTS)
def test_body_is_the_same_fact_when_there_is_more_in_it(name: str, way: str) -> None:
    """AWS adds keys, and says in no order what it says."""
    assert outcome(name, SAME_OBJECT[way](content(name))) == outcome(name, content(name))


@pytest.mark.parametrize("way", REFUSED_JSON)
@pytest.mark.parametrize("name", FULL)
def test_body_is_refused_when_it_is_not_whole(name: str, way: str) -> None:
    """Neither a notice nor none: whoever has sent it, AWS has not."""
    assert outcome(name, REFUSED_JSON[way](content(name))) == REFUSED


def spoilt(data: object) -> Iterator[object]:
    """Yield the data with each value, at any depth, gone or of each wrong type."""
    yield from (None, True, -1, 1e308, "", "\ud800", "x" * 9000, [], {}, [data], DEEP)
    if isinstance(data, dict):
        for key, value in data.items():
            yield {other: data[other] for other in data if other != key}
            yield from (data | {key: bad} for bad in spoilt(value))
    if isinstance(data, list):
        for number, value in enumerate(data):
            rest = data[:number], data[number + 1 :]
            yield [*rest[0], *rest[1]]
            yield from ([*rest[0], bad, *rest[1]] for bad in spoilt(value))


@pytest.mark.parametrize("name", FULL)
def test_body_is_refused_or_sound_when_any_value_is_wrong(name: str) -> None:
    """Missing, of every other type, huge or deep: what comes out can be acted on and logged."""
    variants = list(spoilt(json.loads(content(name))))
    assert len(variants) > 20
    for data in variants:
        body = json.dumps(data).encode()
        if outcome(name, body) == REFUSED:
            continue
        for notice in notices(name, body):
            assert notice.id.isascii()
            assert " " not in notice.id
            assert len(json.dumps(dict(notice.detail))) < 5000
