"""Which parameters should be alike, and who is taken to be wrong where they are not."""

import pytest
from torch import nn

from trainer_hooks.health.replicas import Difference, Said, difference, replicated


def said(*digests: str, first: tuple[int | None, ...]) -> list[Said]:
    """Return what the ranks say."""
    return [
        Said(rank=rank, digest=digest_, first=number)
        for rank, (digest_, number) in enumerate(zip(digests, first, strict=True))
    ]


def test_nothing_is_replicated_when_no_ddp_is_there() -> None:
    """A plain module's parameters may be anything on other ranks."""
    assert replicated(nn.Linear(2, 2), ranks=2) == {}


def test_nobody_differs_when_all_say_the_same() -> None:
    """The usual case."""
    assert difference(said("a", "a", "a", first=(None, None, None))) is None


@pytest.mark.parametrize(
    ("digests", "first", "found"),
    [
        (("a", "b", "a"), (None, 4, None), Difference(ranks=(1,), is_certain=True, first=4)),
        (("b", "a", "a"), (None, 2, 2), Difference(ranks=(0,), is_certain=True, first=2)),
        (("a", "b"), (None, 0), Difference(ranks=(0, 1), is_certain=False, first=0)),
        (
            ("a", "b", "c", "a"),
            (None, 7, 3, None),
            Difference(ranks=(0, 1, 2, 3), is_certain=False, first=3),
        ),
    ],
    ids=["one", "rank-0", "two-ranks", "half"],
)
def test_odd_ranks_are_named_when_more_than_half_are_alike(
    digests: tuple[str, ...], first: tuple[int | None, ...], found: Difference
) -> None:
    """And all of them where nobody has a majority."""
    assert difference(said(*digests, first=first)) == found
