"""The small size of a bench."""

import argparse

import pytest
from lab.sizes import parsed


def parser() -> argparse.ArgumentParser:
    """Return one as a bench has it."""
    made = argparse.ArgumentParser()
    made.add_argument("--rounds", type=int, default=300)
    made.add_argument("--sizes", type=int, nargs="+", default=(64, 1024))
    return made


@pytest.mark.parametrize(
    ("given", "rounds", "sizes"),
    [
        ([], 300, (64, 1024)),
        (["--small"], 5, (64,)),
        (["--small", "--rounds", "7"], 7, (64,)),
        (["--rounds", "7"], 7, (64, 1024)),
    ],
)
def test_size_is_full_unless_the_small_one_is_asked_for(
    given: list[str], rounds: int, sizes: tuple[int, ...]
) -> None:
    """What is given as well wins over both."""
    options = parsed(parser(), given, rounds=5, sizes=(64,))
    assert (options.rounds, options.sizes) == (rounds, sizes)


def test_option_is_refused_when_the_bench_has_none_of_its_name() -> None:
    """Else a small size would silently be the full one."""
    with pytest.raises(ValueError, match=r"no such options: round$"):
        parsed(parser(), [], round=5)
