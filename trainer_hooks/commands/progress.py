"""How far long work is: a bar for whoever watches, nothing for a file or a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str, total_bytes: int) -> Iterator[Callable[[int], object]]:
    """Show a bar on standard error while a block works; yield what to tell of each piece done."""
    if not sys.stderr.isatty():
        yield bool
        return
    from rich.console import Console  # noqa: PLC0415 - half of the time that --help takes
    from rich.progress import (  # noqa: PLC0415 - likewise
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total_bytes)
        yield lambda done: bar.advance(task, done)
