"""Pictures: that there are some, and what is in them. How they look is for people to say."""

import json
import struct
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support.ledgers import begin, example, write
from trainer_hooks import cli
from trainer_hooks.waste.found import Found
from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.records import Committed, Record, Saved, to_json

SHORT = ["plan", "--job-mtbi", "2250", "--stall", "8", "--runs", "40", "--nodes", "4"]
PRICED = ["--on-demand-price", "4", "--spot-price", "1.6"]


@pytest.fixture
def pool(tmp_path: Path) -> str:
    """Return the path of a trace."""
    path = tmp_path / "pool.csv"
    path.write_text("0,4\n1000,2\n1300,4\n5000,3\n5600,4\n12001,4\n")
    return str(path)


@pytest.mark.parametrize("more", [[], PRICED, ["--capacity-wait", "600", *PRICED]])
def test_picture_is_a_slide_when_a_plan_is_drawn(tmp_path: Path, more: list[str]) -> None:
    """1920 x 1080."""
    path = tmp_path / "plan.png"
    assert cli.run([*SHORT, *more, "--plot", str(path)]) == 0
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", header[16:]) == (1920, 1080)


class Page(HTMLParser):
    """Collects what a page loads, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.text = ""

    def handle_starttag(
        self,
        tag: str,  # noqa: ARG002 - whatever loads something
        attrs: list[tuple[str, str | None]],
    ) -> None:
        """Note addresses."""
        self.loaded += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


def test_page_stands_alone_when_a_plan_is_drawn_as_html(tmp_path: Path, pool: str) -> None:
    """It loads nothing, says the plan, and is the same for the same seed."""
    path = tmp_path / "plan.html"
    arguments = [*SHORT, "--trace", pool, "--plot", str(path)]
    assert cli.run(arguments) == 0
    first = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(first)
    assert [address.partition(",")[0] for address in page.loaded] == ["data:image/svg+xml;base64"]
    assert "Save every 3.07 min of training" in page.text
    assert "Trace pool.csv" in page.text
    assert cli.run(arguments) == 0
    assert path.read_text(encoding="utf-8") == first


def test_picture_is_refused_when_it_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the reason."""
    path = tmp_path / "none" / "plan.png"
    assert cli.run([*SHORT, "--plot", str(path)]) == 78
    assert "cannot be written: No such file" in capsys.readouterr().err


def test_extra_is_named_when_matplotlib_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert cli.run([*SHORT, "--plot", str(tmp_path / "plan.png")]) == 78
    assert "the extra [plot] of reprieve" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["$\\frac{$.csv", "<script>x</script>.csv", "東京.csv", "%s{0}.csv"]
)
def test_picture_is_drawn_when_the_name_of_a_trace_is_hostile(
    name: str, tmp_path: Path, pool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no formula, no element of the page, and no warning about a letter."""
    folder = tmp_path / name.partition("/")[0]  # a slash is no part of a name
    folder.mkdir()
    trace = Path(pool).rename(folder / name.rpartition("/")[2])
    path = tmp_path / "plan.html"
    assert cli.run([*SHORT, "--trace", str(trace), "--plot", str(path)]) == 0
    assert "<script" not in path.read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


def test_page_has_no_element_of_the_ledgers_when_a_report_is_drawn(tmp_path: Path) -> None:
    """Whatever a guard or a notice is called."""
    hostile = "<script>alert(1)</script>"
    example(tmp_path)
    (path,) = (tmp_path / FOLDER).glob("a1-*.jsonl")
    found = Found(at=1190.0, guard=hostile, step=3, text=hostile)
    more: list[Record] = [Heard(at=1191.0, id=hostile), found]
    with path.open("a") as file:
        file.writelines(json.dumps(to_json(record)) + "\n" for record in more)
    page = tmp_path / "report.html"
    assert cli.run(["report", str(tmp_path), "--plot", str(page)]) == 0
    assert "<script" not in page.read_text(encoding="utf-8")


def test_page_stays_small_when_a_run_has_saved_very_often(tmp_path: Path) -> None:
    """Months of saves every ten seconds: not each has a dot."""
    records: list[Record] = [begin(1, 1000.0)]
    for step in range(1, 30_001):
        at = 1000.0 + 10 * step
        records += [Saved(step=step, began=at, ended=at + 1), Committed(step=step, at=at + 2)]
    write(tmp_path, records)
    page = tmp_path / "report.html"
    assert cli.run(["report", str(tmp_path), "--plot", str(page)]) == 0
    assert page.stat().st_size < 3_000_000
