"""The page and the README's picture, from the results that are committed."""

import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from page.__main__ import BENCHES, PICTURE, PUBLISHED
from page.beside import RATIOS, beside
from page.chart import Chart, Row, words
from page.html import page
from page.plots import SUBJECTS
from page.stored import Stored, read, read_all
from page.svg import svg

ALL = sorted(path.stem for path in BENCHES.glob("*.py"))


@pytest.fixture(scope="module")
def published() -> list[Stored]:
    """Return the committed results."""
    return read_all(PUBLISHED)


def test_every_published_bench_has_its_section_with_its_plots(published: list[Stored]) -> None:
    """In the page's order, each with its verdict; what the page has words for is a bench."""
    html = page(published)
    names = {one.bench for one in published}
    assert names <= set(SUBJECTS) <= set(ALL)
    sections = re.findall(r'<section id="(\w+)">(.*?)</section>', html, re.DOTALL)
    assert [name for name, _ in sections] == [name for name in SUBJECTS if name in names]
    for name, text in sections:
        assert text.count("<svg") == len(SUBJECTS[name].plots)
        shown = re.findall(r'class="verdict (\w+)"', text)
        assert shown == [one.verdict for one in published if one.bench == name]


def test_peer_is_beside_ours_with_its_ratio_when_it_was_measured() -> None:
    """Not only listed: the figures are those of the file."""
    heard = read(PUBLISHED / "detection_aws.json")
    assert heard.result is not None
    ticking, ours = (heard.result[name]["median_s"]["median"] for name in ("ticking", "ours"))
    expected = f"{words(ticking, 's')}, {words(ticking / ours, 'times')} ours"
    assert expected in page([heard])


@pytest.mark.parametrize("missed", [True, ["stall"]])
def test_bench_is_shown_as_missed_when_its_target_was(
    published: list[Stored], missed: object
) -> None:
    """In words, in its section and at the top."""
    [plan] = [one for one in published if one.bench == "plan"]
    assert plan.result is not None
    html = page([replace(plan, result={**plan.result, "missed": missed})])
    assert "not met: plan (missed)" in html
    assert "TARGET MISSED" in html
    assert "TARGET MISSED" not in page([replace(plan, result={**plan.result, "missed": False})])


def test_reason_is_shown_and_no_tag_of_it_when_a_bench_has_failed(published: list[Stored]) -> None:
    """What a program has said is text."""
    html = page([replace(published[0], result=None, error="<b>no moto</b>")])
    assert "&lt;b&gt;no moto&lt;/b&gt;" in html
    assert "FAILED" in html


def test_peer_is_left_out_when_this_run_has_not_measured_it() -> None:
    """torch-checkpointing, say, where it is not installed; here it is a poll."""
    heard = read(PUBLISHED / "detection_gcp.json")
    assert ">a poll each 5 s<" in page([heard])
    result: dict[str, Any] = json.loads(json.dumps(heard.result))
    for machine in ("idle", "busy"):
        del result[machine]["poll_5s"]
    html = page([replace(heard, result=result)])
    assert ">a poll each 5 s<" not in html
    assert ">a poll each second<" in html


def test_picture_is_drawn_from_the_published_results(published: list[Stored]) -> None:
    """The README's is the one that `--picture` draws, byte for byte, and has a line a peer."""
    chart = beside(published)
    assert chart is not None
    measured = {one.bench for one in published}
    drawn = [row.name for row in chart.rows]
    assert drawn == [name for name, bench, *_ in RATIOS if bench in measured]
    assert len(drawn) >= 5
    assert PICTURE.read_text() == svg(chart)
    assert "pictures/benchmarks.svg" in (BENCHES.parent / "README.md").read_text()


def test_published_results_are_whole_and_small() -> None:
    """A clone carries them for ever."""
    files = list(PUBLISHED.iterdir())
    assert all(read(path).error is None for path in files)
    assert sum(path.stat().st_size for path in files) < 200_000


def dots(drawn: str) -> list[float]:
    """Return where the dots of a picture are."""
    namespace = "{http://www.w3.org/2000/svg}"
    return [float(dot.attrib["cx"]) for dot in ET.fromstring(drawn).iter(f"{namespace}circle")]  # noqa: S314 - our own


def row(name: str, value: float, *, is_ours: bool = False) -> Row:
    """Return a figure without spread."""
    return Row(name, value, value, value, is_ours=is_ours)


def test_dots_are_as_far_apart_as_their_ratios_when_the_axis_is_logarithmic() -> None:
    """1 to 10 is as far as 10 to 100."""
    rows = (row("ours", 1.0, is_ours=True), row("a < b", 10.0), row("c", 100.0))
    one, ten, hundred = dots(svg(Chart(title="t", unit="s", rows=rows)))
    assert ten - one == pytest.approx(hundred - ten, abs=0.2)
    assert ten > one


def test_dots_are_as_far_apart_as_their_figures_when_they_are_close() -> None:
    """From 0 on, so that twice is twice as far; and 0 itself is no logarithm."""
    rows = (row("ours", 0.0, is_ours=True), row("b", 1.0), row("c", 2.0))
    none, one, two = dots(svg(Chart(title="t", unit="MB", rows=rows, target=1.5)))
    assert one - none == pytest.approx(two - one, abs=0.2)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0000007, "s", "0.7 us"),
        (0.0048, "s", "4.8 ms"),
        (1.4567, "s", "1.46 s"),
        (0.0, "s", "0 s"),
        (1560.8, "times", "1,561 times"),
        (42.25, "MB", "42.2 MB"),
    ],
)
def test_figure_has_three_digits_that_count(value: float, unit: str, text: str) -> None:
    """And a unit that makes it readable."""
    assert words(value, unit) == text


def test_last_line_stands_there_as_it_is_when_a_new_bench_has_no_intervals() -> None:
    """Nothing that was measured is left out because nobody has described it yet."""
    new = replace(
        read(PUBLISHED / "plan.json"),
        bench="new",
        result={"missed": False, "codes": [75, 75]},
    )
    assert '"codes": [\n  75,\n  75\n ]' in page([new]).replace("&quot;", '"')
