"""The door to boto3: loaded late, missed in one line."""

import importlib.util
import subprocess
import sys

import pytest
from botocore.exceptions import ClientError

from watcher.aws.boto import failing_as, require_boto3
from watcher.errors import AwsCallFailed, ConfigError

IMPORT_ALL = """
import importlib, pkgutil, sys, watcher
for module in pkgutil.walk_packages(watcher.__path__, "watcher."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print([name for name in ("boto3", "botocore", "google", "torch", "numpy") if name in sys.modules])
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


@pytest.mark.parametrize("raised", [ValueError("odd"), KeyError("Id"), TypeError("None")])
def test_call_fails_in_our_words_when_boto3_raises_anything_at_an_odd_answer(
    raised: Exception,
) -> None:
    """An answer that is not AWS's is no bug of the daemon, which would end it."""
    with pytest.raises(AwsCallFailed, match="not AWS's answer") as failed, failing_as("a call"):
        raise raised
    assert failed.value.outcome == "malformed"


def test_refusal_is_told_in_one_line_without_the_request_when_its_signature_is_refused() -> None:
    """AWS repeats the signed request in that answer, session token and all."""
    said = "The signature does not match.\nx-amz-security-token:CANARY\nCRITICAL forged"
    refusal = ClientError({"Error": {"Code": "SignatureDoesNotMatch", "Message": said}}, "Receive")
    with pytest.raises(AwsCallFailed) as failed, failing_as("a call"):
        raise refusal
    assert str(failed.value) == "a call: SignatureDoesNotMatch: The signature does not match."
