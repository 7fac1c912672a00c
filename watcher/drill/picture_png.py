"""The course of a drill as a PNG, for chats and slides: the one place here that knows matplotlib.

It is the extra [plot], which no daemon needs: nothing is imported before a picture is asked for.
"""

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from watcher.drill.course import WINDOWS_S, Course
from watcher.drill.history import Past
from watcher.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _FAINT, _BAR, _BAD = "#22313f", "#8895a0", "#2f6fbd", "#b3261e"
_SIZE = (11.0, 6.0)
_SHOWN = 60
"""Drills of the past that are drawn, the newest."""


def draw(path: Path, course: Course, node: str, past: Sequence[Past] = ()) -> None:
    """Write what :func:`watcher.drill.picture.picture` shows as a PNG.

    Raises:
        ConfigError: matplotlib is not installed.
        OSError: It can't be written.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"a .png needs matplotlib, the extra [plot] of reprieve; .html does not: {error}"
        ) from error
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # it tells of its font cache
    # A node's name may have a dollar sign, and is no formula.
    with mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing", UserWarning)  # a box is drawn
        figure = Figure(figsize=_SIZE, layout="constrained")
        lost = "; ".join(course.failures())
        verdict = f"the job is lost: {lost}" if lost else "the job survives"
        title = fill(f"Drill on {node[:64]}: {verdict:.200}", 100)
        figure.suptitle(title, x=0.02, ha="left", color=_BAD if lost else _INK)
        rows = 2 if past else 1
        _timeline(figure.add_subplot(rows, 1, 1), course)
        if past:
            _months(figure.add_subplot(rows, 1, 2), past[-_SHOWN:])
        figure.savefig(path, dpi=120, format="png")


def _timeline(axes: "Axes", course: Course) -> None:
    """Draw a bar for every moment that was seen, and a line for each cloud's window."""
    seen = [(what, at_s, more) for what, at_s, more in course.moments() if at_s is not None]
    names = [what for what, _, _ in seen]
    axes.barh(names, [at_s for _, at_s, _ in seen], color=_BAR, height=0.6)
    for number, (_, at_s, more) in enumerate(seen):
        axes.text(at_s, number, f"  {at_s:.1f} s, {more}", va="center", color=_INK, fontsize=9)
    for number, (name, window_s) in enumerate(WINDOWS_S.items()):
        axes.axvline(window_s, color=_FAINT, linestyle="--", linewidth=1)
        # Above and below by turns: the two short windows would write over each other.
        y = -0.5 if number < 2 else len(seen) - 0.35
        side = "right" if number == 0 else "left"
        axes.text(window_s, y, f" {window_s:g} s {name} ", color=_FAINT, fontsize=8, ha=side)
    axes.set_xlim(0, 1.05 * max(course.window_s, *WINDOWS_S.values(), *(at for _, at, _ in seen)))
    axes.set_ylim(len(seen) - 0.2, -0.7)
    axes.set_xlabel("seconds after the notice")
    axes.spines[["top", "right"]].set_visible(False)


def _months(axes: "Axes", past: Sequence[Past]) -> None:
    """Draw the stop times so far, in their order."""
    colours = [_BAR if one.has_survived else _BAD for one in past]
    axes.bar(range(len(past)), [one.stop_s for one in past], color=colours, width=0.7)
    axes.set_xticks([0, len(past) - 1] if len(past) > 1 else [0])
    axes.set_xticklabels([f"{past[0].at:%Y-%m-%d}", f"{past[-1].at:%Y-%m-%d}"][: len(past)])
    axes.set_ylabel("stop time, s")
    axes.spines[["top", "right"]].set_visible(False)
