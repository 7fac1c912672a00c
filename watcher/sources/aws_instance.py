"""Who this instance is, by its metadata: for ids, people and queues; never a gate for notices."""

import re
from collections.abc import Mapping

from watcher.errors import SourceMalformed
from watcher.sources.words import bare, decoded, word

INSTANCE_ID = "instance-id"
LIFE_CYCLE = "instance-life-cycle"
IDENTITY = "instance-identity/document"

_LIMIT_BYTES = 128
_ID = re.compile(r"i-[A-Za-z0-9-]{1,62}", re.ASCII)
_LIFE_CYCLE = re.compile(r"[a-z][a-z0-9-]{0,63}", re.ASCII)

_SHOWN = ("instanceId", "instanceType", "region", "availabilityZone", "accountId")


class AwsInstance:
    """What has been learnt of the instance so far; each of it may stay unknown for ever.

    Args:
        facts: Gets the cloud's own words, by the cloud's own names.
    """

    def __init__(self, facts: dict[str, str]) -> None:
        self.instance_id: str | None = None
        self._facts = facts

    def learn_id(self, body: bytes) -> None:
        """Take in the body of ``instance-id``.

        Raises:
            SourceMalformed: It is no instance's id.
        """
        text = parse_instance_id(body)
        if text is None:
            raise SourceMalformed(f"{INSTANCE_ID}: no id: {body[:64]!r}")
        self._learn({"instanceId": text})

    def learn_life_cycle(self, body: bytes) -> None:
        """Take in the body of ``instance-life-cycle``, an open set of words such as ``spot``.

        Raises:
            SourceMalformed: It is no word.
        """
        text = bare(body, _LIMIT_BYTES)
        if not _LIFE_CYCLE.fullmatch(text):
            raise SourceMalformed(f"{LIFE_CYCLE}: no word: {body[:64]!r}")
        self._learn({"instanceLifeCycle": text})

    def learn_identity(self, body: bytes) -> None:
        """Take in the instance's identity document.

        Raises:
            SourceMalformed: It is no JSON object with an instance's id.
        """
        self._learn(parse_identity(body))

    def _learn(self, facts: Mapping[str, str]) -> None:
        self._facts.update(facts)
        # The first word stays: an id that changed would make a new notice of an old one.
        self.instance_id = self.instance_id or facts.get("instanceId")


def parse_instance_id(body: bytes) -> str | None:
    """Return the id of an instance that the body is, None if it is none."""
    text = bare(body, _LIMIT_BYTES)
    return text if _ID.fullmatch(text) else None


def parse_identity(body: bytes) -> dict[str, str]:
    """Return what an identity document says of the instance, by the document's own names.

    Raises:
        SourceMalformed: It is no JSON object with an instance's id.
    """
    document = decoded(body, IDENTITY)
    if not isinstance(document, dict):
        raise SourceMalformed(f"{IDENTITY}: no object: {body[:64]!r}")
    words = {name: word(document.get(name)) for name in _SHOWN}
    facts = {name: text for name, text in words.items() if text}
    if parse_instance_id(facts.get("instanceId", "").encode()) is None:
        raise SourceMalformed(f"{IDENTITY}: without an instance's id: {body[:64]!r}")
    return facts
