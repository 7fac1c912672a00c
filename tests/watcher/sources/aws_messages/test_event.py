"""What the envelope of an event gives to the parsers of all kinds."""

from datetime import timedelta

import pytest

from tests.support.aws_bodies import RECEIVED, SAID
from watcher.notice import Deadline
from watcher.sources.aws_messages.event import Event, as_event, as_instance_id


def event(**envelope: object) -> Event:
    """Return an event whose envelope says this."""
    minimal: dict[str, object] = {"source": "aws.ec2", "detail-type": "X", "detail": {}}
    return as_event(minimal | envelope, RECEIVED)


def test_window_begins_when_the_event_was_said_when_that_is_known() -> None:
    """Else it begins when the message was received, and the event says so."""
    dated, undated = event(time="2026-11-30T10:05:06Z"), event(time=None)
    assert dated.deadline(120) == Deadline.after(RECEIVED, 118)
    assert dated.oddities == []
    assert undated.deadline(120) == Deadline.after(RECEIVED, 120)
    assert undated.oddities


def test_stated_time_is_cut_when_it_is_further_than_promised() -> None:
    """Two clocks disagree then, and the nearer instant is the safe one."""
    assert event().stated(SAID + timedelta(days=1), 60) == Deadline.after(RECEIVED, 60)


def test_key_is_the_id_when_there_is_one() -> None:
    """Else the time, else nothing."""
    time = "2026-11-30T10:05:06Z"
    assert event(id="one", time=time).key == "one"
    assert event(time=time).key == "2026-11-30T10:05:06+00:00"
    assert event(id=7).key is None


def test_resources_are_texts_when_they_are_anything() -> None:
    """A text alone stands for a list of one."""
    assert event(resources="arn").resources == ("arn",)
    assert event(resources=["arn", None, 5, ["arn"]]).resources == ("arn",)
    assert event(resources={"arn": 1}).resources == ()


def test_hyphens_win_when_a_title_is_spelt_both_ways() -> None:
    """What is on the bus has the hyphen."""
    assert event(detail_type="Y").title == "X"


@pytest.mark.parametrize("value", ["i-0123456789abcdef0", "i-1a2b3c4d", "i-" + "f" * 62])
def test_instance_id_is_one_when_it_looks_like_one(value: str) -> None:
    """Old ids are shorter."""
    assert as_instance_id(value) == value


@pytest.mark.parametrize("value", ["", "i-", "I-0123", "h-0123", "i-0123 ", "i-é", None, 5])
def test_instance_id_is_none_when_it_looks_like_something_else(value: object) -> None:
    """Hosts and volumes have ids too."""
    assert as_instance_id(value) is None
