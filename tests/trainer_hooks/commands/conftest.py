"""What the tests of the commands share."""

from pathlib import Path

import pytest

from tests.support.checkpoint_tool import Tool


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Look at the test's directory."""
    return Tool(tmp_path, capsys)
