"""Drawing: the one place that knows matplotlib, the extra [plot] of reprieve."""

import argparse
import base64
import html
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "productive": "#2a9d8f",
    "save": "#e9c46a",
    "rework": "#f4a261",
    "restart": "#e76f51",
    "waiting": "#8d99ae",
    "straggler": "#b56576",
    "other": "#c9ccd5",
    "paused": "#eef0f3",
}
"""The same for a part in every picture; apart for colour-blind people by their lightness too."""

INK = "#22313f"
FAINT = "#8895a0"

_STYLE = {
    "font.size": 11,
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
    "figure.constrained_layout.w_pad": 0.25,
    "figure.constrained_layout.h_pad": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "reprieve",
    "text.parse_math": False,  # a file's name may have a dollar sign, and is no formula
}

Panel = Callable[["Axes"], None]
"""Draws one picture of several."""

SIZE = (16.0, 9.0)
"""Inches: a slide."""


def picture_path(text: str) -> Path:
    """Read where a picture is to go; what is neither is argparse's to complain of."""
    path = Path(text)
    if path.suffix not in {".png", ".html"}:
        raise argparse.ArgumentTypeError(f"a picture is .png or .html, not {path.name!r}")
    return path


def draw(path: Path, title: str, panels: list[Panel], text: str = "") -> None:
    """Draw up to four panels on a slide, as .png or as .html with the text below.

    Raises:
        ConfigError: matplotlib is not installed, or nothing can be written there.
    """
    with warnings.catch_warnings(), _figure(title, panels) as figure:
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing", UserWarning)  # a box is drawn
        try:
            if path.suffix == ".png":
                figure.savefig(path, dpi=120)
            else:
                path.write_text(_page(title, figure, text), encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def _figure(title: str, panels: list[Panel]) -> "Iterator[Figure]":
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"pictures need matplotlib, the extra [plot] of reprieve: {error}"
        ) from error
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # it tells of its font cache
    with mpl.rc_context(_STYLE):  # type: ignore[arg-type]  # it wants all names as literals
        figure = Figure(figsize=SIZE, layout="constrained")
        figure.suptitle(title, fontsize=18, fontweight="bold", x=0.02, ha="left")
        columns = 2 if len(panels) > 1 else 1
        rows = -(-len(panels) // columns)
        for number, panel in enumerate(panels, 1):
            panel(figure.add_subplot(rows, columns, number))
        yield figure


def _page(title: str, figure: "Figure", text: str) -> str:
    """Return a page that stands alone: it loads nothing from anywhere."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    picture = base64.b64encode(drawn.getvalue()).decode("ascii")
    return f"""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{html.escape(title)}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: {INK}; max-width: 75rem; margin: 2rem auto; }}
img {{ width: 100%; }}
pre {{ background: #f5f6f8; padding: 1rem 1.5rem; overflow-x: auto; border-radius: 6px; }}
</style>
<img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{picture}">
<pre>{html.escape(text)}</pre>
</html>
"""
