"""Who tells, as the settings ask for."""

from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.responding import Desk, Recorded, handled, running
from tests.support.standings import in_force
from tests.support.telling import Scripted, kept
from watcher.actions.aside import Aside
from watcher.actions.run_command import RunCommandConfig
from watcher.actions.tellers import SECTIONS, asked_for
from watcher.actions.webhook_config import WebhookConfig
from watcher.config import Config
from watcher.errors import ConfigError
from watcher.metrics import Metrics
from watcher.notice import NoticeKind, Urgency
from watcher.policy import POLICY
from watcher.settings import load

TOML = """
[webhook]
url = "https://hooks.example.com/x?y=z"
header_files = ["X-A=/a", "X-B=/b"]
[run_command]
argv = "notify --all"
"""


def test_nobody_tells_when_nothing_is_set(metrics: Metrics, clock: TurnedClock) -> None:
    """Both are off by default."""
    assert asked_for(Config(), metrics, clock) == []


async def test_those_tell_whom_the_settings_name(metrics: Metrics, clock: TurnedClock) -> None:
    """Each under its own name, as the policy has it for every kind."""
    sections = (WebhookConfig(url="https://h/x"), RunCommandConfig(argv=("x",)))
    told = asked_for(Config(sections=sections), metrics, clock)
    assert [action.name for action in told] == list(SECTIONS)
    for rule in POLICY.values():
        assert rule.actions[0] == "flag_file"
        assert [name for name in rule.actions if name in SECTIONS] == list(SECTIONS)


def test_settings_are_read_from_file_and_environment(tmp_path: Path) -> None:
    """The environment wins, and both mean the same."""
    file = tmp_path / "watcher.toml"
    file.write_text(TOML)
    config = load(file, {}, {}).config
    assert config.of(RunCommandConfig) == RunCommandConfig(argv=("notify", "--all"))
    assert config.of(WebhookConfig).header_files == ("X-A=/a", "X-B=/b")
    environment = {
        "REPRIEVE_WEBHOOK_URL": "https://other/",
        "REPRIEVE_WEBHOOK_HEADER_FILES": "X-A=/a,X-B=/b",
        "REPRIEVE_WEBHOOK_TEMPLATE": '{"x": "{text}"}',
        "REPRIEVE_RUN_COMMAND_LIMIT_S": "3",
    }
    config = load(file, environment, {}).config
    assert config.of(RunCommandConfig).limit_s == 3
    assert config.of(WebhookConfig) == WebhookConfig(
        url="https://other/", header_files=("X-A=/a", "X-B=/b"), template='{"x": "{text}"}'
    )


@pytest.mark.parametrize(
    ("toml", "why"),
    [
        ("[webhook]\nurll = 1", "nearest known one is webhook.url"),
        ("[run_command]\nargs = 1", "nearest known one is run_command.argv"),
        ("[webhook]\nurl = 'http://example.com/'", "webhook.url has to be a URL"),
        ("[webhook]\npreset = 'discord'", "json, slack, teams, pagerduty"),
        ("[webhook]\npreset = 'pagerduty'", "needs webhook.key_file"),
        ("[webhook]\ntemplate = '\"{nod}\"'", "the nearest is {node}"),
    ],
)
def test_settings_are_refused_when_they_make_no_sense(tmp_path: Path, toml: str, why: str) -> None:
    """At the start, and by check-config."""
    file = tmp_path / "watcher.toml"
    file.write_text(toml)
    with pytest.raises(ConfigError) as caught:
        load(file, {}, {})
    assert why in str(caught.value)


@pytest.mark.parametrize("kind", NoticeKind)
async def test_nobody_waits_for_the_teller_when_it_hangs(
    metrics: Metrics, clock: TurnedClock, kind: NoticeKind
) -> None:
    """Flag and signal are begun first; whatever the kind, advice and drills too, all is done."""
    teller = Scripted()
    told = Aside("webhook", teller, metrics, clock)
    teller.may_go.clear()
    order: list[str] = []
    flag, signal = Recorded("flag_file"), Recorded("signal")
    teller.heard = flag.calls = signal.calls = order
    standing = in_force("spot", kind)
    desk = Desk(clock, told, signal, flag)
    async with kept(told), running(desk):
        await handled(desk, standing.notice)
        assert desk.acknowledged == ["spot"]
        assert (desk.outcome("flag_file"), desk.outcome("webhook")) == ("done", "done")
        await eventually(lambda: "in_force spot" in order)
    before = ["run spot"] * (2 if standing.urgency is Urgency.STOP else 1)
    assert order == [*before, "in_force spot"]
