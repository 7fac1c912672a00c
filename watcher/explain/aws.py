"""The bodies that AWS sends: answers of the metadata service, and messages of a queue."""

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType

from watcher.explain.answer import Answer, Asked, Body, Told
from watcher.sources.aws_imds_events import parse_scheduled_events, parse_target_lifecycle_state
from watcher.sources.aws_imds_spot import parse_instance_action, parse_rebalance
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.reading import ForInstance, ForReservation, Ignored


def _spot(body: bytes, asked: Asked) -> Answer:
    return (Told(parse_instance_action(body, asked.received, asked.instance_id)),)


def _rebalance(body: bytes, asked: Asked) -> Answer:
    return (Told(parse_rebalance(body, asked.received, asked.instance_id)),)


def _scheduled(body: bytes, asked: Asked) -> Answer:
    notices = parse_scheduled_events(body, asked.received, asked.instance_id)
    return tuple(Told(notice) for notice in notices) or "no event is scheduled and not over"


def _asg(body: bytes, asked: Asked) -> Answer:
    notice = parse_target_lifecycle_state(body, asked.received, asked.instance_id)
    return (Told(notice),) if notice else "the group does not send the instance to its end"


def _queue(body: bytes, asked: Asked) -> Answer:
    reading = parse_message(body, asked.received)
    if isinstance(reading, Ignored):
        return reading.why
    mine = [told for told in reading.addressed if _concerns(told, asked.instance_id)]
    return tuple(Told(told.notice, _addressee(told)) for told in mine) or (
        f"it is for other instances than {asked.instance_id}"
    )


def _concerns(told: ForInstance | ForReservation, instance_id: str | None) -> bool:
    """Tell whether it may be for the instance; who is in a reservation only EC2 can say."""
    is_open = instance_id is None or isinstance(told, ForReservation)
    return is_open or told.notice.instance_id == instance_id


def _addressee(told: ForInstance | ForReservation) -> Mapping[str, object]:
    if isinstance(told, ForReservation):
        return {"reservation_id": told.reservation_id}
    return {"hook": asdict(told.hook)} if told.hook else {}


AWS_BODIES: Mapping[str, Body] = MappingProxyType(
    {
        "aws-imds-spot": Body("/latest/meta-data/spot/instance-action", _spot),
        "aws-imds-rebalance": Body(
            "/latest/meta-data/events/recommendations/rebalance", _rebalance
        ),
        "aws-imds-scheduled": Body("/latest/meta-data/events/maintenance/scheduled", _scheduled),
        "aws-imds-asg": Body("/latest/meta-data/autoscaling/target-lifecycle-state", _asg),
        "aws-sqs": Body(
            "the Body of an SQS message: an EventBridge event, bare or in an SNS\n"
            "envelope, or a notification of an auto-scaling hook",
            _queue,
        ),
    }
)
"""Every kind of body of AWS's, by the name on the command line."""
