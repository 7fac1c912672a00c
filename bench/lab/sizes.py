"""The two sizes of a bench: the full one, whose figures count, and a small one for `make bench`."""

import argparse
from collections.abc import Sequence


def parsed(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None, **small: object
) -> argparse.Namespace:
    """Read a command line that may ask for the small size.

    Args:
        parser: With the options of the bench, whose defaults are its full size. It is given
            ``--small``.
        arguments: Instead of the process's own.
        small: By option, what ``--small`` makes the default; what is given as well wins.

    Raises:
        SystemExit: As argparse does.
        ValueError: There is no such option.
    """
    parser.add_argument("--small", action="store_true", help="a minute or so, as in `make bench`")
    known = {action.dest for action in parser._actions}  # noqa: SLF001 - argparse has no other way
    if not known >= set(small):
        raise ValueError(f"no such options: {', '.join(sorted(set(small) - known))}")
    asked, _ = parser.parse_known_args(arguments)
    if asked.small:
        parser.set_defaults(**small)
    return parser.parse_args(arguments)
