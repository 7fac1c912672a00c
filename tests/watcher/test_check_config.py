"""`check-config --explain`: what each kind of notice means here, and what of it was set."""

import json
import os
from pathlib import Path

import pytest

from watcher import cli
from watcher.notice import NoticeKind
from watcher.policy import POLICY

CORDON = """
[policy.rebalance]
actions = ["flag_file", "node_mark", "cordon"]
expires_s = 3600
"""


@pytest.fixture(autouse=True)
def bare_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this machine's own settings out."""
    for name in os.environ:
        if name.startswith("REPRIEVE_"):
            monkeypatch.delenv(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A settings file in which rebalances cordon."""
    path = tmp_path / "watcher.toml"
    path.write_text(CORDON)
    return path


def shown(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return what is printed."""
    with pytest.raises(SystemExit) as ended:
        cli.main(("check-config", "--explain", *options))
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_table_has_every_kind_with_its_rule_when_nothing_is_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line a kind, and none says that it was set."""
    out = shown(capsys)
    rows = {line.split()[0]: line for line in out.splitlines()[1 : len(POLICY) + 1]}
    assert set(rows) == set(NoticeKind)
    assert rows["maintenance"].split()[1:5] == ["stop", "60", "900", "-"]
    for kind, rule in POLICY.items():
        assert rows[kind].endswith(", ".join(rule.actions))
    assert "set by" not in out


def test_table_says_what_differs_from_the_default_and_who_set_it(
    capsys: pytest.CaptureFixture[str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field that was set to what it is by default does not differ."""
    monkeypatch.setenv("REPRIEVE_POLICY_HARDWARE_LEAD_S", "7200")
    lines = shown(capsys, "--config", str(file)).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("rebalance"))
    assert lines[at].split("  ")[-1] == "flag_file, node_mark, cordon"
    was = ", ".join(POLICY[NoticeKind.REBALANCE].actions)
    assert lines[at + 1] == f"    actions set by {file}; the default is {was}"
    assert lines[at + 2].startswith("hardware")
    assert lines[at + 3] == (
        "    lead_s set by environment REPRIEVE_POLICY_HARDWARE_LEAD_S; the default is 86400"
    )


def test_object_has_every_rule_and_what_was_set_when_asked_for_json(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    """For programs."""
    policy = json.loads(shown(capsys, "--json", "--config", str(file)))
    assert list(policy) == list(NoticeKind)
    assert policy["rebalance"] == {
        "urgency": "advisory",
        "default_window_s": 600.0,
        "actions": ["flag_file", "node_mark", "cordon"],
        "lead_s": None,
        "expires_s": 3600.0,
        "set": {"actions": str(file), "expires_s": str(file)},
    }
    assert policy["preemption"]["set"] == {}


def test_explained_notice_is_under_the_policy_that_is_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`explain --config` says what this daemon would make of it."""
    file = tmp_path / "watcher.toml"
    file.write_text('[policy.rebalance]\nurgency = "stop"\n')
    body = tmp_path / "body"
    body.write_text('{"id": "a", "kind": "rebalance"}')
    for options, urgency in (((), "advisory"), (("--config", str(file)), "stop")):
        with pytest.raises(SystemExit):
            cli.main(("explain", "command-line", str(body), *options))
        [notice] = json.loads(capsys.readouterr().out)["notices"]
        assert notice["urgency"] == urgency
