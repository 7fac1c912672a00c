"""Which of Azure's machines this is: without its name nobody can tell whose an event is."""

import asyncio
import logging
from contextlib import suppress

from watcher.errors import SourceMalformed
from watcher.httpclient import Answer
from watcher.notice import Moment
from watcher.sources.azure_config import VM_NAME
from watcher.sources.lane import Sight
from watcher.sources.words import bare, decoded

log = logging.getLogger(__name__)

NAME_WAIT_S = 1.0
"""Longest that a document waits for the name, in seconds: both are asked for at the same time."""


class AzureVm:
    """The machine's name in Azure: set, or learnt from the metadata service.

    Args:
        facts: Gets the cloud's own words, by the cloud's own names.
        name: The name, if it is set.
    """

    def __init__(self, facts: dict[str, str], name: str | None) -> None:
        self.name = name
        self._facts = facts
        self._is_known = asyncio.Event()
        if name is not None:
            self._learn(name)

    async def wait(self) -> None:
        """Wait for the name, but no longer than NAME_WAIT_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(NAME_WAIT_S):
                await self._is_known.wait()

    def answered(self, answer: Answer, _now: Moment) -> Sight:
        """Take in the answer about the name.

        Raises:
            SourceMalformed: It is no name.
        """
        said = parse_name(answer.body)
        self._learn(said)
        if self.name is not None and said.casefold() != self.name.casefold():
            log.warning(
                "azure.vm_name is %s, and the metadata service says %s: events of %s are ignored",
                *(self.name, said, said),
            )
        return Sight("present", [])

    def unknown(self) -> None:
        """Take in a failed fetch: nothing was learnt."""

    def _learn(self, name: str) -> None:
        # The first word stays: a name that changed would make a new notice of an old one.
        self.name = self.name or name
        self._facts["name"] = self.name
        self._is_known.set()


def parse_name(body: bytes) -> str:
    """Return the machine's name, whether it came as a text or as JSON.

    Raises:
        SourceMalformed: It is none.
    """
    text = bare(body, 256)
    name = decoded(text, "compute/name") if text.startswith('"') else text
    if not isinstance(name, str) or not VM_NAME.fullmatch(name):
        raise SourceMalformed(f"compute/name: no machine's name: {body[:64]!r}")
    return name
