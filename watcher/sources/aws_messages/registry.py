"""Every message of AWS's that is understood: one literal table, nothing else."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from watcher.sources.aws_messages.capacity_block import parse_delivered, parse_expiration_warning
from watcher.sources.aws_messages.capacity_interruption import parse_capacity_interruption
from watcher.sources.aws_messages.event import Event
from watcher.sources.aws_messages.health_change import parse_health_event
from watcher.sources.aws_messages.lifecycle_action import (
    parse_launch_action,
    parse_terminate_action,
    parse_test_notification,
)
from watcher.sources.aws_messages.rebalance_recommendation import parse_rebalance_recommendation
from watcher.sources.aws_messages.spot_interruption import parse_spot_interruption
from watcher.sources.aws_messages.state_change import parse_state_change
from watcher.sources.reading import Reading

PARSERS: Mapping[tuple[str, str], Callable[[Event], Reading]] = MappingProxyType(
    {
        ("aws.ec2", "EC2 Spot Instance Interruption Warning"): parse_spot_interruption,
        ("aws.ec2", "EC2 Instance Rebalance Recommendation"): parse_rebalance_recommendation,
        ("aws.ec2", "EC2 Instance State-change Notification"): parse_state_change,
        (
            "aws.ec2",
            "EC2 Capacity Reservation Instance Interruption Warning",
        ): parse_capacity_interruption,
        # The documentation has had both titles of each at different times.
        ("aws.ec2", "Capacity Block Expiration Warning"): parse_expiration_warning,
        ("aws.ec2", "Capacity Block Reservation Expiration Warning"): parse_expiration_warning,
        ("aws.ec2", "Capacity Block Delivered"): parse_delivered,
        ("aws.ec2", "Capacity Block Reservation Delivered"): parse_delivered,
        ("aws.autoscaling", "EC2 Instance-terminate Lifecycle Action"): parse_terminate_action,
        ("aws.autoscaling", "EC2 Instance-launch Lifecycle Action"): parse_launch_action,
        # A hook that writes to the queue itself sends these words instead of a detail-type.
        ("aws.autoscaling", "autoscaling:EC2_INSTANCE_TERMINATING"): parse_terminate_action,
        ("aws.autoscaling", "autoscaling:EC2_INSTANCE_LAUNCHING"): parse_launch_action,
        ("aws.autoscaling", "autoscaling:TEST_NOTIFICATION"): parse_test_notification,
        ("aws.health", "AWS Health Event"): parse_health_event,
    }
)
"""By source and detail-type, as AWS writes them. Source: reference sheet on cloud reclaim
contracts, sections 1.4 and 1.8 (read 2026-11-30)."""
