"""docs/command.md against the code it describes."""

import re
from dataclasses import fields
from pathlib import Path

from watcher.sources.command import ABSENCES_TO_WITHDRAW, BETWEEN_LINES_S
from watcher.sources.command_config import CommandConfig
from watcher.sources.notice_line import FIELDS, KINDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command.md").read_text()


def test_page_lists_every_setting_field_and_kind() -> None:
    """With the defaults as they are."""
    for field in fields(CommandConfig):
        default = {"lines": "`lines`", "preemption": "`preemption`"}.get(str(field.default))
        default = default or ("not set" if field.default is None else f"{field.default:g}")
        assert f"| `{field.name}` | {default} |" in PAGE
    assert [word for word in (*FIELDS, *KINDS) if f"`{word}`" not in PAGE] == []


def test_page_has_the_figures_of_the_code() -> None:
    """How often is 1 none, and how fast is a flood read."""
    assert ABSENCES_TO_WITHDRAW == 3
    assert "Three in a row" in PAGE
    assert BETWEEN_LINES_S == 0.01
    assert "a hundred lines a second" in PAGE


def test_page_names_every_example_and_its_mode() -> None:
    """As the head of each says itself."""
    listed = dict(re.findall(r"^\| `([a-z]+\.[a-z]+)` \| ([a-z]+) \|", PAGE, flags=re.MULTILINE))
    examples = {path.name: path.read_text() for path in (ROOT / "examples" / "command").iterdir()}
    modes = {
        name: "status" if 'mode = "status"' in text else "lines" for name, text in examples.items()
    }
    assert listed == modes
