"""The PNG of a drill: a real picture, also of odd drills, and only where its extra is there."""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from matplotlib.image import imread

from tests.support.courses import SURVIVED
from watcher import cli
from watcher.drill.course import Course
from watcher.drill.history import Past
from watcher.drill.picture_png import draw
from watcher.errors import ConfigError

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
BAR, BAD = (0x2F, 0x6F, 0xBD), (0xB3, 0x26, 0x1E)


def colours(path: Path) -> set[tuple[int, ...]]:
    """Return every colour in a picture."""
    drawn = (imread(path)[:, :, :3] * 255).round().astype(int)
    return {tuple(one) for one in drawn.reshape(-1, 3).tolist()}


@pytest.mark.parametrize(
    ("past", "colour", "is_there"), [(PAST, BAD, True), (PAST[:1], BAD, False), ([], BAR, True)]
)
def test_picture_shows_drills_and_which_were_lost(
    tmp_path: Path, past: list[Past], colour: tuple[int, ...], *, is_there: bool
) -> None:
    """By its pixels."""
    path = tmp_path / "drill.png"
    draw(path, SURVIVED, "node-7", past)
    assert (colour in colours(path)) is is_there


@pytest.mark.parametrize(
    ("course", "node"),
    [
        (replace(SURVIVED, code=1), "node-7"),
        (Course(window_s=120), "$\\frac{x}$"),
        (replace(SURVIVED, ended_s=1e6), "ノード" * 99),
    ],
)
def test_picture_is_drawn_whatever_the_drill_was(tmp_path: Path, course: Course, node: str) -> None:
    """No warning either, which would be an error here."""
    path = tmp_path / "drill.png"
    draw(path, course, node, PAST)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_picture_is_refused_with_a_way_out_when_there_is_no_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon's install has none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"extra \[plot\].*\.html does not"):
        draw(tmp_path / "drill.png", SURVIVED, "node-7")


@pytest.mark.parametrize("name", ["drill.svg", "drill", "png"])
def test_picture_is_refused_before_the_drill_when_it_is_of_another_sort(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or trainers would have stopped for nothing."""
    with pytest.raises(SystemExit):
        cli._arguments(["drill", f"--picture={name}"])
    assert "a picture is .png or .html" in capsys.readouterr().err
