"""Forks DataLoader workers that surely run.

A fork copies every lock as it is at that moment. CPython's own was among them up to 3.11.9: where
another thread held it, such as one of gloo's on its way into Python, the child waits for it for
ever, and the training for the child's first batch. It was seen once in some 500 starts on a busy
machine. A child that does not come to its first instruction is killed, and another is forked.

Source: python/cpython issue 112275, mended in 3.11.10 and 3.12 (read 2026-11-30).
"""

import logging
import multiprocessing
import os
import select
from multiprocessing import popen_fork, process
from multiprocessing.context import ForkContext, ForkProcess

from trainer_hooks.errors import WorkerError

log = logging.getLogger(__name__)

BORN_WITHIN_S = 10.0
"""How long a child may take to its first instruction: milliseconds are usual, and one that is taken
for dead by mistake costs only another fork."""

TRIES = 3


class SurelyForked(ForkProcess):
    """A process that is forked again if it does not come to life."""

    _birth: tuple[int, int]

    def run(self) -> None:
        """Say that this process runs, and go on as any other. Runs in the child."""
        reader, writer = self._birth
        os.write(writer, b".")
        os.close(writer)
        os.close(reader)
        super().run()

    @staticmethod
    def _Popen(process_obj: process.BaseProcess) -> popen_fork.Popen:  # noqa: N802 - multiprocessing's own name
        """Fork until a child lives.

        Raises:
            WorkerError: None does.
        """
        for left in reversed(range(TRIES)):
            reader, writer = os.pipe()
            process_obj._birth = (reader, writer)  # type: ignore[attr-defined]  # noqa: SLF001 - it is ours
            try:
                forked = popen_fork.Popen(process_obj)
            finally:
                os.close(writer)
            has_come = _is_readable(reader)  # also where it died at once, which others notice
            os.close(reader)
            if has_come:
                return forked
            forked.kill()
            forked.wait()
            log.warning(
                "worker %s hung in its fork and was killed; %d tries left", process_obj.name, left
            )
        raise WorkerError(
            f"{process_obj.name} did not come to life within {BORN_WITHIN_S:g} s, {TRIES} times in "
            "a row: start the job again; with Python before 3.11.10 a newer one helps"
        )


class SurelyForking(ForkContext):
    """A way of starting processes for ``DataLoader(multiprocessing_context=)``."""

    Process = SurelyForked


def surely(context: object) -> object:
    """Return what stands in for a loader's context: ours where it forks, else the same.

    Args:
        context: A DataLoader's ``multiprocessing_context``; None is Python's default.
    """
    forks = (
        multiprocessing.get_start_method() == "fork"
        if context is None
        else (isinstance(context, ForkContext))
    )
    return SurelyForking() if forks else context


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(BORN_WITHIN_S * 1000))
