"""docs/actions.md against the code it describes."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from tests.support.actions_page import BLOCKS, PAGE
from watcher.actions import aside, run_command
from watcher.actions.news import DETAILS_LIMIT, FIELDS, WORD_LIMIT_CHARS
from watcher.actions.run_command import RunCommandConfig
from watcher.actions.webhook_bodies import PRESETS
from watcher.actions.webhook_config import WebhookConfig
from watcher.settings import load


@pytest.mark.parametrize("config", [WebhookConfig, RunCommandConfig])
def test_page_lists_every_setting_with_its_default(
    config: type[WebhookConfig | RunCommandConfig],
) -> None:
    """As they are in the code."""
    for field in fields(config):
        default = f"`{field.default}`" if field.name in ("preset", "proxy") else "not set"
        default = f"{field.default:g}" if isinstance(field.default, float) else default
        default = "none" if field.name == "header_files" else default
        assert f"| `{field.name}` | {default} |" in PAGE
    assert [preset for preset in PRESETS if f"`{preset}`" not in PAGE] == []


def test_page_shows_the_document_with_every_field() -> None:
    """In order, and each explained."""
    (shown,) = re.findall(r'^    (\{"schema".*\})$', PAGE, re.MULTILINE)
    assert tuple(json.loads(shown)) == FIELDS
    assert [name for name in FIELDS[1:] if f"`{name}`" not in PAGE] == []
    assert "`" + "`, `".join(run_command.VARIABLES[:-2]) in PAGE.replace("\n", " ")


def test_page_has_the_figures_of_the_code() -> None:
    """Of the queue, the attempts and the texts."""
    assert f"{aside.QUEUE_LIMIT} wait" in PAGE
    assert aside.FIRST_PAUSE_S == 0.5
    assert "after half a second" in PAGE
    assert f"up to every {aside.LONGEST_PAUSE_S:.0f} s" in PAGE
    least, most = f"{aside.LEAST_TRY_S:.0f} s", f"{aside.LONGEST_TRY_S / 60:.0f} min"
    assert f"at least {least} and at most {most}" in PAGE
    assert f"{WORD_LIMIT_CHARS} characters" in PAGE
    assert f"at most {DETAILS_LIMIT}" in PAGE
    assert f"{run_command.SAID_LIMIT_BYTES} bytes" in PAGE


def test_blocks_are_settings_when_loaded(tmp_path: Path) -> None:
    """Two of them; tests/watcher/test_daemon_tellers.py runs the first."""
    assert len(BLOCKS) == 2
    for block in BLOCKS:
        file = tmp_path / "watcher.toml"
        file.write_text(block)
        assert load(file, {}, {}).config.of(WebhookConfig).is_on
