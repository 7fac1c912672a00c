"""What the responder asks of an action."""

from typing import Protocol

from watcher.notice import Standing


class Action(Protocol):
    """Does one thing about a notice; both directions may be asked for any number of times."""

    name: str

    async def run(self, standing: Standing, /) -> str:
        """Do it, and return in a few words what was done.

        Raises:
            ActionWaiting: Its time has not come; it is asked again within a second.
            ActionRetryable: It failed in a way that may pass.
            ActionRefused: It failed, and trying again can't help.
        """
        ...

    async def undo(self, standing: Standing, /) -> str:
        """Undo it after the notice was withdrawn; returns and raises as :meth:`run` does."""
        ...
