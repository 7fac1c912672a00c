"""A recommendation is advice: it has no deadline, whatever it says."""

import pytest

from tests.support.aws_bodies import ABSENT, changed, only, read
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind

REBALANCE = "rebalance-recommendation"


@pytest.mark.parametrize("time", [ABSENT, "soon", "2026-11-30T10:05:06"])
def test_rebalance_is_advice_without_deadline_when_its_time_is_odd(time: object) -> None:
    """The time says when it was said, so nothing hangs on it."""
    notice = only(changed(REBALANCE, "time", time))
    assert notice.kind is NoticeKind.REBALANCE
    assert notice.deadline is None
    assert notice.detail["malformed"]


@pytest.mark.parametrize(
    "detail", [ABSENT, None, [], "i-0beef000000000001", {}, {"instance-id": 1}]
)
def test_rebalance_is_refused_when_it_names_no_instance(detail: object) -> None:
    """Advice to nobody is none."""
    with pytest.raises(SourceMalformed):
        read(changed(REBALANCE, "detail", detail))
