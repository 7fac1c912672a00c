"""docs/policy.md says what the table says, and its example is one."""

import re
from pathlib import Path

import pytest

from watcher.notice import NoticeKind
from watcher.policy import POLICY
from watcher.policy_overrides import ACTIONS, READERS
from watcher.settings import load

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
UNITS_S = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
TELLING = ("flag_file", "webhook", "run_command")


def seconds(cell: str) -> float | None:
    """Read a time as the page has it."""
    number, _, unit = cell.partition(" ")
    return float(number) * UNITS_S[unit] if cell else None


@pytest.mark.parametrize("kind", NoticeKind)
def test_row_is_the_tables_when_read(kind: NoticeKind) -> None:
    """Every time of it, and who acts."""
    [row] = re.findall(rf"^\| `{kind}` \| (.*) \|$", PAGE, re.MULTILINE)
    urgency, window, lead, expires, actions = (cell.strip() for cell in row.split("|"))
    rule = POLICY[kind]
    assert urgency == rule.urgency
    assert seconds(window) == rule.default_window_s
    assert (seconds(lead), seconds(expires)) == (rule.lead_s, rule.expires_s)
    every = set(ACTIONS) - {"lifecycle_hook", "node_replacement"}
    expected = {
        "all": every,
        "all, and `lifecycle_hook`": {*every, "lifecycle_hook"},
        "all, and `node_replacement`": {*every, "node_replacement"},
        "those that tell": set(TELLING),
        "those that tell, and `signal`": {*TELLING, "signal"},
    }
    assert set(rule.actions) == expected[actions]


def test_example_is_a_policy_when_loaded(tmp_path: Path) -> None:
    """The block that people copy."""
    [block] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "watcher.toml"
    file.write_text(block)
    policy = load(file, {}, {}).config.policy
    assert policy[NoticeKind.REBALANCE].expires_s == 1800
    assert policy[NoticeKind.MAINTENANCE].lead_s == 3600
    assert policy[NoticeKind.HARDWARE].urgency == "advisory"


def test_page_names_every_key_and_action() -> None:
    """So that nobody has to read the code for them."""
    fields = {key.rpartition(".")[2] for key in READERS}
    assert all(f"`{name}`" in PAGE for name in (*fields, *ACTIONS))
