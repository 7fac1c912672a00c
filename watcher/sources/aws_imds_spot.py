"""What EC2 says by IMDS about taking a Spot instance back: pure parsers of three metadata keys.

Source: EC2 user guide, "Spot Instance interruption notices", "EC2 instance rebalance
recommendations", "Instance metadata categories" (read 2026-11-30).
"""

from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.aws_windows import HIBERNATE_WINDOW_S, SPOT_ACTIONS, SPOT_WINDOW_S
from watcher.sources.aws_words import IMDS
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import bare, detail, notice_id, object_with, shown, word

SPOT = "spot/instance-action"
REBALANCE = "events/recommendations/rebalance"
TERMINATION_TIME = "spot/termination-time"

_TIME_LIMIT_BYTES = 64


def parse_instance_action(body: bytes, received: Moment, instance_id: str | None) -> Notice:
    """Return the preemption that the body of ``spot/instance-action`` announces.

    A body of AWS's with an odd action or time is a notice all the same, under the promised
    window; ``detail["malformed"]`` then says what was odd.

    Raises:
        SourceMalformed: The body is not AWS's: no JSON object, or one without action and time.
    """
    data = object_with(("action", "time"), body, SPOT)
    action, time = word(data.get("action")), word(data.get("time"))
    stated = rfc3339_instant(data.get("time"))
    odd = [] if action in SPOT_ACTIONS else [shown("action", data)]
    odd += [] if stated else [shown("time", data)]
    deadline = Deadline.after(received, SPOT_WINDOW_S)
    if stated:
        deadline = Deadline.stated(stated, seen=received, longest_s=SPOT_WINDOW_S)
    if action == "hibernate":
        deadline = Deadline.after(received, HIBERNATE_WINDOW_S)
    return Notice(
        id=notice_id("aws-spot", action, time, instance_id),
        kind=NoticeKind.PREEMPTION,
        source=IMDS,
        received=received,
        deadline=deadline,
        action=action,
        instance_id=instance_id,
        detail=detail({"time": time}, odd),
    )


def parse_rebalance(body: bytes, received: Moment, instance_id: str | None) -> Notice:
    """Return the advice that the body of ``events/recommendations/rebalance`` gives.

    Its ``noticeTime`` is when the signal was emitted; there is no deadline.

    Raises:
        SourceMalformed: The body is not AWS's: no JSON object, or one without noticeTime.
    """
    data = object_with(("noticeTime",), body, REBALANCE)
    time = word(data.get("noticeTime"))
    odd = [] if rfc3339_instant(data.get("noticeTime")) else [shown("noticeTime", data)]
    return Notice(
        id=notice_id("aws-rebalance", time, instance_id),
        kind=NoticeKind.REBALANCE,
        source=IMDS,
        received=received,
        instance_id=instance_id,
        detail=detail({"noticeTime": time}, odd),
    )


def parse_termination_time(body: bytes, received: Moment, instance_id: str | None) -> Notice | None:
    """Return the termination that the body of ``spot/termination-time`` announces, if it does.

    It is the same fact, with the same id, as the one that ``spot/instance-action`` shows with the
    action ``terminate``; this key is older. EC2 says that where there is none it may answer with
    some other text, so what is no time is no notice either.
    """
    time = bare(body, _TIME_LIMIT_BYTES)
    stated = rfc3339_instant(time)
    if stated is None:
        return None
    return Notice(
        id=notice_id("aws-spot", "terminate", time, instance_id),
        kind=NoticeKind.PREEMPTION,
        source=IMDS,
        received=received,
        deadline=Deadline.stated(stated, seen=received, longest_s=SPOT_WINDOW_S),
        action="terminate",
        instance_id=instance_id,
        detail={"time": time},
    )
