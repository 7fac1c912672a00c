"""The checks of a node's own SQS queue: is there a client for it, and may it be used."""

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from uuid import uuid4

from watcher.aws.sqs import SqsQueue
from watcher.errors import AwsCallFailed
from watcher.finding import Finding, ok, unknown, wrong
from watcher.sources.aws_config import AwsConfig

_ACTIONS = "sqs:ReceiveMessage, sqs:DeleteMessage and sqs:ChangeMessageVisibility"
_TODO = {
    "forbidden": f"allow {_ACTIONS} on the queue to the role of this instance or pod",
    "credentials": "give the instance or the pod a role, or the process AWS credentials",
    "partial_credentials": "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither where"
    " the instance or the pod has a role",
    "expired_token": "renew the credentials, or take them out of the environment and ~/.aws where"
    " the instance or the pod has a role: those of a role renew themselves",
    "no_profile": "let AWS_PROFILE name a profile of ~/.aws/config, or unset it where the instance"
    " or the pod has a role",
    "no_region": "set AWS_DEFAULT_REGION, because aws.queue_url names no region",
    "no_queue": "look at aws.queue_url, or make the queue",
}
_OTHERWISE = "let this node reach the SQS endpoint of the queue's region"

_NEVER_GIVEN = ("ReceiptHandleIsInvalid", "InvalidParameterValue")
"""What SQS says of a receipt that it has not given. Source: its model in botocore; answers of the
service in aws/aws-sdk-java-v2#3101 and boto/boto3#2898 (read 2026-11-30)."""


async def extra(config: AwsConfig) -> Finding:
    """Check that boto3 is installed where a queue is to be read."""
    checked = "boto3"
    if config.queue_url is None:
        return ok(checked, "not needed, no queue is set")
    if find_spec("boto3") is None:
        return wrong(checked, "not installed", "pip install 'reprieve[aws]'")
    return ok(checked, "installed")


async def permission(config: AwsConfig) -> Finding:
    """Check that the queue lets us work, without taking a message out of it.

    A receipt that AWS has never given is refused as such to those who may delete, and the call is
    refused to those who may not; an answer that takes it is not SQS's. A receive can't be tried
    like that: it would count.
    """
    checked = "permissions on the queue"
    if config.queue_url is None:
        return ok(checked, "not needed, no queue is set")
    if find_spec("boto3") is None:
        return unknown(checked, "boto3 is not installed")
    queue, receipt = SqsQueue(config.queue_url), [str(uuid4())]
    try:
        answers = (await queue.delete(receipt), await queue.hide(receipt, visibility_s=0))
    except AwsCallFailed as error:
        return wrong(checked, str(error), _TODO.get(error.outcome, _OTHERWISE))
    finally:
        queue.close()
    codes = [answer.get(receipt[0], "no refusal") for answer in answers]
    if any(code not in _NEVER_GIVEN for code in codes):
        found = f"SQS would not answer {' and '.join(codes)} to a receipt it has never given"
        return wrong(checked, found, _OTHERWISE)
    return ok(checked, "messages may be deleted and hidden")


CHECKS: tuple[Callable[[AwsConfig], Awaitable[Finding]], ...] = (extra, permission)
