"""The bench of the relay: what it checks, sends and shows; its run takes minutes, not seconds."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from lab.intervals import Interval
from relay_burst import INSTANCES, MESSAGES, check, table, warning

from watcher.notice import Moment
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.reading import Notices

NOW = Moment(datetime(2026, 11, 30, 10, 5, 8, tzinfo=UTC), 5000.0)


def test_figure_counts_only_when_every_instance_was_handled_once() -> None:
    """One forgotten or told twice is no faster way."""
    check(Counter(INSTANCES))
    for wrong in (Counter(INSTANCES[1:]), Counter([*INSTANCES, INSTANCES[0]])):
        with pytest.raises(RuntimeError, match="instances"):
            check(wrong)


def test_message_is_a_notice_to_its_instance_when_it_is_read() -> None:
    """Else a relay would only throw it away."""
    assert len(set(INSTANCES)) == MESSAGES == 1000
    reading = parse_message(warning(INSTANCES[7], "event-7"), NOW)
    assert isinstance(reading, Notices)
    assert [told.notice.instance_id for told in reading.addressed] == [INSTANCES[7]]


def test_table_names_both_ways_and_how_many_times_longer_one_takes() -> None:
    """People read that; the last line of the bench is for programs."""
    lines = table(Interval(4.0, 3.0, 5.0), 20.0).splitlines()
    assert [line.split()[0] for line in lines] == ["1000", "ours", "one_by_one", "one"]
    assert lines[-1].endswith("takes 5.0 times ours")
