"""Says what an action would do, and does not do it."""

from watcher.actions.base import Action
from watcher.errors import ActionDryRun
from watcher.notice import Standing


class DryRun:
    """Stands in for an action that can't be tried without being done, such as a signal."""

    def __init__(self, action: Action) -> None:
        self.name = action.name

    async def run(self, _standing: Standing, /) -> str:
        """Do nothing.

        Raises:
            ActionDryRun: Always.
        """
        raise ActionDryRun(f"{self.name} would be done now")

    async def undo(self, _standing: Standing, /) -> str:
        """Do nothing; raises as :meth:`run` does."""
        raise ActionDryRun(f"{self.name} would be undone now")
