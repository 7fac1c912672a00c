"""A listener in the test's own process, and what it has told."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import wait_until
from trainer_hooks.flag import FLAG_NAME
from trainer_hooks.stop import StopListener


class Heard:
    """A listener that is running, and what it has told whoever asked."""

    def __init__(
        self, run_dir: Path, launcher: int | None = None, grace_s: float | None = None
    ) -> None:
        self.gone_by_s: list[float] = []
        """By when an orphan has to be gone, at each word of it."""
        self.listener = StopListener(
            self._note,
            flag_path=run_dir / FLAG_NAME,
            launcher=launcher,
            grace_s=grace_s,
            on_orphaned=self.gone_by_s.append,
        )
        self.ids: list[str | None] = []
        """The id of the pending notice at each news; None when it was withdrawn."""

    def _note(self) -> None:
        notice = self.listener.pending()
        self.ids.append(None if notice is None else notice.id)

    def wait_for(self, *ids: str | None) -> None:
        """Wait until the news so far are exactly these."""
        wait_until(lambda: len(self.ids) >= len(ids))
        assert self.ids == list(ids)


@contextmanager
def listening(run_dir: Path, grace_s: float | None = None) -> Iterator[Heard]:
    """Listen in this process."""
    heard = Heard(run_dir, grace_s=grace_s)
    heard.listener.start()
    yield heard
    heard.listener.close()
