"""Run every bench at its small size, and make the page.

Exit status 1 when a bench has failed or missed its target; the others have run nevertheless. 2 when
a file of results can't be shown.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from page.beside import beside
from page.html import page
from page.running import run_all, summary
from page.stored import StoredError, read_all
from page.svg import svg

BENCHES = Path(__file__).parents[1]
PUBLISHED = BENCHES / "published"
"""The results that the README's picture is of: copied here by hand from a quiet machine's run."""
PICTURE = BENCHES.parent / "docs" / "pictures" / "benchmarks.svg"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked, and return the exit status."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="BENCH", help="only these, as stop_check (default: all)")
    add("--benches", type=Path, default=BENCHES, metavar="DIR", help="(%(default)s)")
    add("--results", type=Path, default=BENCHES / "results", metavar="DIR", help="(%(default)s)")
    add("--page", type=Path, default=Path("build/bench/index.html"), help="(%(default)s)")
    add("--only-page", action="store_true", help="run nothing, show the results that are there")
    add("--picture", action="store_true", help="draw the README's anew, from bench/published")
    options = parser.parse_args(arguments)
    try:
        if options.picture:
            return draw_picture()
        return run_and_show(options, parser)
    except StoredError as error:
        print(error, file=sys.stderr)
        return 2


def run_and_show(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run what is asked for, write the page of all results, and say what was not met."""
    scripts = sorted(options.benches.glob("*.py"))
    if unknown := set(options.names) - {script.stem for script in scripts}:
        parser.error(f"no such bench: {', '.join(sorted(unknown))}")
    began_s, done = monotonic(), []
    if not options.only_page:
        asked = [one for one in scripts if not options.names or one.stem in options.names]
        done = run_all(asked, options.results)
    found = read_all(options.results)
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text(page(found), encoding="utf-8")
    print(f"{options.page}, after {monotonic() - began_s:.0f} s")
    not_met = summary(found if options.only_page else done)
    print(*not_met, sep="\n")
    return 1 if not_met else 0


def draw_picture() -> int:
    """Draw the README's picture from the committed results."""
    chart = beside(read_all(PUBLISHED))
    if chart is None:
        raise StoredError(f"{PUBLISHED}: nothing there that stands beside a peer")
    PICTURE.write_text(svg(chart), encoding="utf-8")
    print(PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
