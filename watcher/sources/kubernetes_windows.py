"""How much warning is believed of what a Node says, and when it is over, in seconds.

Whoever can write a Node can write this, so that no deadline counts that is further away than any
cloud's; what is said of a deadline that the node has outlived by far is history.
"""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.notice import NoticeKind
from watcher.sources import aws_windows, gcp_windows
from watcher.sources.azure_document import SCHEDULED_WINDOW_S
from watcher.sources.gcp_instance import RUN_TIME_LIMIT_S

LONGEST_S: Mapping[NoticeKind, float] = MappingProxyType(
    {
        NoticeKind.PREEMPTION: max(aws_windows.SPOT_WINDOW_S, gcp_windows.LONGEST_NOTICE_S),
        # As long as a lifecycle hook can hold an instance.
        NoticeKind.TERMINATION: aws_windows.OVER_AFTER_S[NoticeKind.TERMINATION],
        NoticeKind.CAPACITY_END: RUN_TIME_LIMIT_S,
        NoticeKind.MAINTENANCE: aws_windows.SCHEDULED_WINDOW_S,
        NoticeKind.LIVE_MIGRATION: gcp_windows.UPCOMING_WINDOW_S,
        NoticeKind.REBALANCE: SCHEDULED_WINDOW_S,
        NoticeKind.HARDWARE: aws_windows.SCHEDULED_WINDOW_S,
    }
)
"""Most that is believed, for every kind that a cloud tells of."""

OVER_AFTER_S: Mapping[NoticeKind, float] = MappingProxyType(
    {
        **aws_windows.OVER_AFTER_S,
        # A pause of seconds, which has begun when Google Cloud's audit log tells of it.
        NoticeKind.LIVE_MIGRATION: 300.0,
    }
)
"""Seconds after the deadline, or after the receipt of what has none, at which a relayed notice is
over; the longer one where two clouds differ. A kind that is not here ends with the boot."""
