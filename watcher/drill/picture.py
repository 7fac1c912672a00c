"""The course of a drill as a picture: one HTML page with an SVG in it, and nothing else."""

from collections.abc import Iterator, Sequence
from html import escape

from watcher.drill.course import WINDOWS_S, Course
from watcher.drill.history import Past

_WIDTH, _LEFT, _ROW = 760, 110, 26
_STYLE = """\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#656d76;--bar:#2f6fbd;--bad:#b3261e;
--line:#c9cfd6}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#98a1aa;--bar:#74a9e8;--bad:#ff8a80;
--line:#3c444d}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);max-width:52rem;margin:2rem auto;
padding:0 1rem}
svg{width:100%;height:auto}
text{font:12px system-ui,sans-serif;fill:var(--ink)}
.soft{fill:var(--soft);color:var(--soft)}
.bar{fill:var(--bar)}
.bad{fill:var(--bad);color:var(--bad)}
line{stroke:var(--line)}
.window{stroke-dasharray:4 3}
"""


def picture(course: Course, node: str, past: Sequence[Past] = ()) -> str:
    """Return the page: the timeline against each cloud's window, and the drills before."""
    lost = "; ".join(course.failures())
    verdict = f"The job is lost: {lost}" if lost else "The job survives"
    mood = "bad" if lost else ""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Drill on {escape(node)}</title><style>{_STYLE}</style>"
        f'<h1>Drill on {escape(node)}</h1><p class="{mood}">{escape(verdict)}.</p>'
        f"{_timeline(course)}{_months(past)}</html>\n"
    )


def _timeline(course: Course) -> str:
    rows = [(what, at_s, more) for what, at_s, more in course.moments() if at_s is not None]
    longest_s = max([at_s for _, at_s, _ in rows] + [course.window_s, *WINDOWS_S.values()])
    scale = (_WIDTH - _LEFT - 20) / longest_s
    height = _ROW * (len(rows) + 2)
    parts = list(_windows(scale, height))
    for number, (what, at_s, more) in enumerate(rows):
        y = _ROW * (number + 1)
        width = max(2.0, at_s * scale)
        parts.append(
            f'<text x="0" y="{y + 13}">{escape(what)}</text>'
            f'<rect class="bar" x="{_LEFT}" y="{y}" width="{width:.1f}" height="16"/>'
            f'<text x="{_LEFT + width + 6:.1f}" y="{y + 13}">{at_s:.1f} s, {escape(more)}</text>'
        )
    label = "Seconds after the notice, against the windows of the clouds"
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">' + "".join(
        [*parts, "</svg>"]
    )


def _windows(scale: float, height: int) -> Iterator[str]:
    """Yield a line for each cloud's window, from which on the node is gone."""
    for name, window_s in WINDOWS_S.items():
        x = _LEFT + window_s * scale
        yield (
            f'<line class="window" x1="{x:.1f}" x2="{x:.1f}" y1="14" y2="{height - 22}"/>'
            f'<text class="soft" x="{x:.1f}" y="{height - 6 if window_s != 15 else 10}" '
            f'text-anchor="{"end" if x > _WIDTH - 60 else "middle"}">'
            f"{window_s:g} s {escape(name)}</text>"
        )


def _months(past: Sequence[Past]) -> str:
    """Return the stop times of the drills so far, in their order."""
    if not past:
        return ""
    most_s = max(1.0, *(one.stop_s for one in past))
    shown = past[-60:]
    step = (_WIDTH - _LEFT - 20) / max(1, len(shown))
    parts = []
    for number, one in enumerate(shown):
        height = 100 * one.stop_s / most_s
        mood = "bar" if one.has_survived else "bad"
        about = escape(f"{one.at:%Y-%m-%d}, {one.node}: {one.stop_s:.1f} s of {one.window_s:g} s")
        parts.append(
            f'<rect class="{mood}" x="{_LEFT + number * step:.1f}" y="{110 - height:.1f}" '
            f'width="{max(1.0, 0.7 * step):.1f}" height="{height:.1f}">'
            f"<title>{about}</title></rect>"
        )
    dates = f"{shown[0].at:%Y-%m-%d} to {shown[-1].at:%Y-%m-%d}"
    return (
        f"<h2>Stop times, {dates}</h2>"
        f'<svg viewBox="0 0 {_WIDTH} 120" role="img" aria-label="Stop time of each drill">'
        f'<text x="0" y="20">{most_s:.1f} s</text><text x="0" y="110">0 s</text>'
        + "".join([*parts, "</svg>"])
    )
