"""What a rank is told from outside: notices on its node, signals, and a user's stop request."""

from collections.abc import Callable

from trainer_hooks.checkpoint.place import Place
from trainer_hooks.flag import StopNotice
from trainer_hooks.launched import open_launcher, told_grace_s
from trainer_hooks.request_follower import RequestFollower
from trainer_hooks.stop import StopListener


class Hearing:
    """All that may tell this rank to stop. Made before it meets anybody: an orphan does not.

    Args:
        on_news: Called whenever ``pending()`` has changed, from the thread that has heard of it.
        on_orphaned: As for ``StopListener``.
        on_awake: Likewise.

    Raises:
        LauncherGoneError: The launcher has died before this rank began.
        ConfigError: A variable of the environment makes no sense.
    """

    def __init__(
        self,
        on_news: Callable[[], None],
        on_orphaned: Callable[[float], None] = lambda _: None,
        on_awake: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_news = on_news
        grace_s = told_grace_s()
        self._listener = StopListener(
            on_news,
            launcher=open_launcher(),
            grace_s=grace_s,
            on_orphaned=on_orphaned,
            on_awake=on_awake,
        )
        self._requests: RequestFollower | None = None

    def start(self) -> None:
        """Listen from now on. Call it from the main thread."""
        self._listener.start()

    def follow_requests(self, root: Place, attempt: int, step: Callable[[], int]) -> None:
        """Hear also of what a user asks of this attempt. One rank of the job calls it.

        Args:
            root: The checkpoint directory.
            attempt: Its number.
            step: Returns the steps finished; asked from another thread.
        """
        self._requests = RequestFollower(root, attempt, self._on_news, step)
        self._requests.start()

    def pending(self) -> StopNotice | None:
        """Return the most urgent that was heard, or None; any thread may ask.

        A notice that says stop knows more than a user, who takes no node away; advice is last.
        """
        notice = self._listener.pending()
        if self._requests is None or (notice is not None and notice.is_stop):
            return notice
        return self._requests.notice() or notice

    def close(self) -> None:
        """Hear nothing any more. Call it from the main thread."""
        if self._requests is not None:
            self._requests.close()
        self._listener.close()
