"""Which of a topic's messages a node's queue gets: all that may be for it, and little else.

Source: SNS developer guide, "Filter policy constraints" and "AND/OR logic" (read 2026-11-30).
"""

APPLIES_WITHIN_MIN = 15
"""Minutes until a new or changed filter policy counts everywhere."""

POLICIES_A_TOPIC = 200
"""Most filter policies on one topic; 10,000 in an account."""


def filter_policy(instance_id: str) -> dict[str, object]:
    """Return the filter policy of an instance's queue, for the scope ``MessageBody``.

    Two kinds of message come to every node, which leaves those that are not for it: the end of a
    Capacity Block names no instance, and AWS Health names many, in a list of objects. Each
    alternative is as short as it can be, because SNS allows five keys and 150 combinations, which
    it counts by the depth of a key.
    """
    return {
        "$or": [
            {"detail": {"instance-id": [instance_id]}},
            {"detail": {"EC2InstanceId": [instance_id]}},
            {"detail-type": ["AWS Health Event", {"prefix": "Capacity Block"}]},
        ]
    }
