"""Who tells people and their programs of notices: their settings, and how each is made.

Another one is a line here, one in the policy, and a file that defines it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher.actions import run_command, webhook, webhook_config
from watcher.actions.aside import Aside, Teller
from watcher.actions.run_command import RunCommand, RunCommandConfig
from watcher.actions.webhook import Webhook
from watcher.actions.webhook_config import WebhookConfig
from watcher.config import Config
from watcher.metrics import Metrics
from watcher.notice import Moment


@dataclass(frozen=True, slots=True)
class ActionSection:
    """The settings of an action that belongs to no road.

    Attributes:
        settings: A frozen dataclass, each field with a default and a docstring.
        readers: By field what reads a value; a reader's ValueError says what it had expected.
    """

    settings: type[object]
    readers: Mapping[str, Callable[[object], object]]


SECTIONS: Mapping[str, ActionSection] = MappingProxyType(
    {
        webhook.NAME: ActionSection(WebhookConfig, webhook_config.READERS),
        run_command.NAME: ActionSection(RunCommandConfig, run_command.READERS),
    }
)
"""By the name of the section, which is the action's."""


def asked_for(config: Config, metrics: Metrics, now: Callable[[], Moment]) -> list[Aside]:
    """Return the actions that tell whom the settings name; none by default."""
    tellers: dict[str, Teller] = {}
    if (posting := config.of(WebhookConfig)).is_on:
        tellers[webhook.NAME] = Webhook(posting, config.node)
    if (running := config.of(RunCommandConfig)).argv:
        tellers[run_command.NAME] = RunCommand(running, config.node)
    return [Aside(name, teller, metrics, now) for name, teller in tellers.items()]
