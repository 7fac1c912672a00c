"""The clouds' pages show what the command prints."""

import json
import re
import shlex
from pathlib import Path

import pytest

from watcher.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^    \$ reprieve-watcher (.*)\n((?:    .*\n)+)", re.MULTILINE)
EXAMPLES = {
    name: EXAMPLE.findall((ROOT / "docs" / name).read_text())
    for name in ("aws.md", "azure.md", "gcp.md")
}


def test_pages_have_examples_when_searched() -> None:
    """Else the next test would check nothing."""
    assert {name: len(found) for name, found in EXAMPLES.items()} == {
        "aws.md": 3,
        "azure.md": 2,
        "gcp.md": 2,
    }


@pytest.mark.parametrize(
    ("command", "printed"), [example for found in EXAMPLES.values() for example in found]
)
def test_example_prints_what_the_page_shows_when_typed(
    command: str,
    printed: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the root of a checkout."""
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit):
        main(shlex.split(command))
    assert json.loads(capsys.readouterr().out) == json.loads(printed)
