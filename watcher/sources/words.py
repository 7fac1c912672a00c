"""How what a cloud says is taken in: JSON, single words, ids. Pure, and never surprised by a body.

A body that is no JSON is refused. A value of the wrong type is not: it is shown, and the notice it
belongs to stands.
"""

import codecs
import json
import re
from collections.abc import Mapping, Sequence

from watcher.errors import SourceMalformed

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9:.+_-]")
_WORD_LIMIT_CHARS = 64


def decoded(body: bytes | str, what: str) -> object:
    """Return what the JSON text says, with or without a byte order mark.

    Raises:
        SourceMalformed: It is no JSON, or nested too deep to be a cloud's.
    """
    try:
        data: object = json.loads(body.removeprefix("\ufeff") if isinstance(body, str) else body)
    except (ValueError, RecursionError) as error:
        raise SourceMalformed(f"{what}: no JSON: {body[:64]!r}") from error
    return data


def bare(body: bytes, limit_bytes: int) -> str:
    """Return the text of a body that is no JSON, cut, without byte order mark and white space.

    Bytes that are no text become letters that no cloud uses, so nothing is mistaken for a word.
    """
    return body[:limit_bytes].removeprefix(codecs.BOM_UTF8).decode("latin-1").strip()


def object_with(names: tuple[str, ...], body: bytes | str, what: str) -> Mapping[str, object]:
    """Return the JSON object in ``body`` if it has at least one of ``names``.

    Raises:
        SourceMalformed: It is no such object, so it is not the cloud's.
    """
    data = decoded(body, what)
    if not isinstance(data, dict) or not any(name in data for name in names):
        raise SourceMalformed(f"{what}: no object with {' or '.join(names)}: {body[:64]!r}")
    return data


def inner(said: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the object under a name, an empty one where there is none."""
    found = said.get(name)
    return found if isinstance(found, dict) else {}


def word(value: object, limit: int = _WORD_LIMIT_CHARS) -> str | None:
    """Return a text, cut to ``limit`` characters; None for what is no text."""
    return value[:limit] if isinstance(value, str) else None


def shown(name: str, data: Mapping[str, object]) -> str:
    """Return what is odd about a value: its text, or only its type, which can't be deep."""
    value = data.get(name)
    return (
        f"{name} {value!r:.80}" if isinstance(value, str) else f"{name} is {type(value).__name__}"
    )


def notice_id(*parts: str | None) -> str:
    """Return an id made of the parts, fit for a log line and a file."""
    return "-".join(_NOT_IN_IDS.sub("_", part or "unknown") for part in parts)


def detail(words: Mapping[str, str | None], odd: Sequence[str] = ()) -> dict[str, str]:
    """Return those of the words that were said, and under ``malformed`` what could not be read."""
    every = {**words, "malformed": ", ".join(odd)}
    return {name: said for name, said in every.items() if said}
