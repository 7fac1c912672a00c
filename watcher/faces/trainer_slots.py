"""Which label each trainer has in the metrics: a number, which its successor takes over.

What a trainer calls itself never becomes a label: it is anybody's text, and another at each start.
"""

from collections.abc import Iterable

SLOTS = 64
"""How many trainers of a node have a label of their own."""

OTHER = "other"
"""The label that all further ones share."""


class TrainerSlots:
    """Gives out the labels, the lowest free one first, and takes back those of who is gone."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def labels(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the label of each trainer there is now; one keeps its label as long as it is."""
        there = list(ids)
        self._taken = {one: slot for one, slot in self._taken.items() if one in there}
        free = sorted(set(range(SLOTS)) - set(self._taken.values()), reverse=True)
        for one in there:
            if one not in self._taken and free:
                self._taken[one] = free.pop()
        return {one: str(self._taken.get(one, OTHER)) for one in there}
