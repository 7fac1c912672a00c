"""A bench on the page."""

from dataclasses import dataclass

from page.reading import Plot


@dataclass(frozen=True, slots=True)
class Subject:
    """A bench on the page."""

    heading: str
    meaning: str
    """What the figures mean for a user, and when the target is missed."""
    plots: tuple[Plot, ...]
