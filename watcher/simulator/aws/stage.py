"""An EC2 instance and its metadata service as one stage for a scenario's changes."""

from collections.abc import Mapping

from aiohttp import web

from watcher.simulator.aws.changes import TokensExpired
from watcher.simulator.aws.identity import Identity
from watcher.simulator.aws.instance import Instance
from watcher.simulator.aws.metadata import ROOT, AwsMetadata
from watcher.simulator.aws.options import Access, OptionsModified
from watcher.simulator.aws.tokens import Tokens
from watcher.simulator.aws.vocabulary import WORDS
from watcher.simulator.changes import Change
from watcher.simulator.clock import ScenarioClock


class AwsStage:
    """Passes each change to the part that it is about."""

    words = WORDS
    root = ROOT

    def __init__(
        self, clock: ScenarioClock, identity: Identity, access: Access, tokens: Tokens
    ) -> None:
        self.instance = Instance(clock)
        self._identity = identity
        self._access = access
        self._tokens = tokens

    def routes(self) -> list[web.RouteDef]:
        """List the routes of the metadata service."""
        return AwsMetadata(self._identity, self.instance, self._tokens, self._access).routes()

    def refuse(self, change: Change) -> None:
        """Pass if there is something for ``change`` to end.

        Raises:
            ScenarioError: It withdraws a notice or ends an event, and none is in force.
        """
        self.instance.refuse(change)

    def apply(self, change: Change) -> None:
        """Let ``change`` happen; one that finds nothing to end changes nothing."""
        match change:
            case TokensExpired():
                self._tokens.expire_all()
            case OptionsModified():
                self._access.modify(change)
            case _:
                self.instance.apply(change)

    def in_force(self) -> Mapping[str, object]:
        """Return the marks and events that the metadata service tells of."""
        mark = self.instance.mark()
        return {
            "notice": None if mark is None else {"action": mark.action, "time": mark.time},
            "rebalance_notice_time": self.instance.rebalance_time(),
            "maintenance": self.instance.maintenance.scheduled,
            "target_state": self.instance.target_state,
        }
