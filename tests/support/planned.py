"""Calling ``reprieve-trainer plan``, and reading what it says."""

import json
from typing import Any

import pytest

from trainer_hooks import cli


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what a command prints."""
    assert cli.run(arguments) == 0
    return capsys.readouterr().out


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Return a plan as JSON."""
    return json.loads(said(capsys, *arguments, "--json"))
