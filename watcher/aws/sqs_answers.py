"""What proves that an answer is SQS's, and what it says of each entry of a batch; pure.

A captive portal or a proxy answers 200 as well, with a page or with ``{}``, and a client reads
either as "no messages" and "nothing failed".

Source: SQS API reference, DeleteMessageBatch, ChangeMessageVisibilityBatch and "Common errors"; SQS
developer guide, "Making Query API requests", whose every answer has the header
(read 2026-11-30).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from watcher.errors import AwsCallFailed

_PROOF = "x-amzn-requestid"
"""The header in every answer of SQS's; botocore spells names in lower case."""


def require_proof(answer: Mapping[str, Any], what: str) -> None:
    """Make sure that SQS itself has answered the call; ``what`` names the call for people.

    Raises:
        AwsCallFailed: Something in between has.
    """
    if not answer["ResponseMetadata"]["HTTPHeaders"].get(_PROOF):
        raise AwsCallFailed(
            f"{what}: 200, but not SQS's answer: it has no header {_PROOF}. A proxy or a portal "
            "answers in its place; let this node reach the SQS endpoint past it",
            outcome="malformed",
        )


def refused(answer: Mapping[str, Any], receipts: Sequence[str], what: str) -> dict[str, str]:
    """Return those of a batch's receipts that SQS did not take, each with its code.

    The entries of the batch carry their place in ``receipts`` as id.

    Raises:
        AwsCallFailed: The answer leaves open what became of one, or is not SQS's.
    """
    require_proof(answer, what)
    taken = {str(entry["Id"]) for entry in answer.get("Successful") or ()}
    codes = {str(entry["Id"]): str(entry["Code"]) for entry in answer.get("Failed") or ()}
    asked = {str(number) for number in range(len(receipts))}
    if taken | codes.keys() != asked:
        raise AwsCallFailed(
            f"{what}: answers for {len(asked & (taken | codes.keys()))} of {len(asked)} entries",
            outcome="malformed",
        )
    return {receipts[int(number)]: code for number, code in codes.items()}
