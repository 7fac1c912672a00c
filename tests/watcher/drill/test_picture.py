"""The picture of a drill: well formed, alone, and only text in it of what others say."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from tests.support.courses import SURVIVED
from watcher.drill.history import Past
from watcher.drill.picture import picture

PAST = [
    Past(
        at=datetime(2026, month, 1, tzinfo=UTC),
        node="node-7",
        stop_s=float(month),
        window_s=120.0,
        has_survived=month != 2,
    )
    for month in (1, 2, 3)
]


def drawn(page: str) -> list[ET.Element]:
    """Return the drawings, which have to be well formed."""
    return [ET.fromstring(one) for one in re.findall(r"<svg.*?</svg>", page)]  # noqa: S314 - ours


def test_every_moment_has_a_bar_as_long_as_it_took() -> None:
    """In the order of the report."""
    (timeline,) = drawn(picture(SURVIVED, "node-7"))
    widths = [float(one.attrib["width"]) for one in timeline.iter("rect")]
    assert len(widths) == 6
    assert widths == sorted(widths)
    assert "4.0 s, exit code 75" in [one.text for one in timeline.iter("text")]
    assert len(list(timeline.iter("line"))) == 3


def test_moment_has_no_bar_when_it_was_not_seen() -> None:
    """Nothing is made up."""
    (timeline,) = drawn(picture(replace(SURVIVED, stopped_s=None), "node-7"))
    assert len(list(timeline.iter("rect"))) == 5


def test_drills_before_are_shown_with_those_that_were_lost() -> None:
    """The longest is as high as the picture."""
    _, months = drawn(picture(SURVIVED, "node-7", PAST))
    bars = list(months.iter("rect"))
    assert [one.attrib["class"] for one in bars] == ["bar", "bad", "bar"]
    assert bars[-1].attrib["height"] == "100.0"


def test_verdict_says_why_when_the_job_is_lost() -> None:
    """As the report does."""
    assert "The job is lost: it ended with 1" in picture(replace(SURVIVED, code=1), "node-7")


def test_page_loads_and_runs_nothing_whatever_the_node_is_called() -> None:
    """It is mailed around."""
    page = picture(SURVIVED, '<script src="http://x/">', PAST)
    assert "<script" not in page
    assert re.findall(r"<[^>]*(?:src|href)=", page) == []
    assert page.count("&lt;script src=&quot;http://x/&quot;&gt;") == 2
