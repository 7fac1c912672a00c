"""Fuzz the parser of one source of `explain`: parsers.py SOURCE SECONDS CORPUS.

Atheris mutates bytes towards code that has not run yet. Anything but an answer or SourceMalformed
ends the process with a traceback, a non-zero status and the input in the working directory.
"""

import sys
from datetime import UTC, datetime

import atheris

with atheris.instrument_imports(include=["watcher.sources", "watcher.notice"]):
    from watcher.errors import SourceMalformed
    from watcher.explain.answer import Asked
    from watcher.explain.bodies import BODIES
    from watcher.notice import Moment

RECEIVED = Moment(datetime(2026, 11, 30, 10, 5, 8, 123_457, tzinfo=UTC), 7000.0)
ASKED = Asked(received=RECEIVED, instance_id="i-0beef000000000001")


def main(source: str, seconds: str, corpus: str) -> None:
    """Fuzz until the seconds are over; libFuzzer then ends the process."""
    explain = BODIES[source].explain

    def once(data: bytes) -> None:
        try:
            explain(data, ASKED)
        except SourceMalformed:
            return

    # A body of 64 KiB is the most that the metadata client reads; longer ones only slow it down.
    atheris.Setup(
        [sys.argv[0], f"-max_total_time={seconds}", "-max_len=65536", "-timeout=20", corpus], once
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
