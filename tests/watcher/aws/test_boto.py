"""The door to boto3: loaded late, missed in one line."""

import importlib.util
import subprocess
import sys

import pytest

from watcher.aws.boto import require_boto3
from watcher.errors import ConfigError

IMPORT_ALL = """
import importlib, pkgutil, sys, watcher
for module in pkgutil.walk_packages(watcher.__path__, "watcher."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print([name for name in ("boto3", "botocore", "torch", "numpy") if name in sys.modules])
"""


def test_no_module_of_the_watcher_loads_boto3_when_it_is_imported() -> None:
    """45 MB and half a second are for those who have a queue."""
    command = [sys.executable, "-c", IMPORT_ALL]
    assert subprocess.run(command, check=True, capture_output=True).stdout.strip() == b"[]"


def test_missing_extra_is_named_in_one_line_when_a_queue_is_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything has started, and with what installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        ConfigError, match=r"^the queue needs boto3: pip install 'reprieve\[aws\]'$"
    ):
        require_boto3("the queue")
