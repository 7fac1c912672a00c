"""The page: a section a bench, the machine, and what missed its target. One file, no scripts."""

import json
from collections.abc import Iterable, Sequence
from html import escape

from page.beside import beside
from page.plots import SUBJECTS
from page.reading import chart_of, intervals, spread
from page.stored import Stored
from page.svg import svg

ORDER = tuple(SUBJECTS)

VERDICTS = {
    "met": "target met",
    "missed": "TARGET MISSED",
    "failed": "FAILED: no figures from this run",
}

READING = (
    "A dot is a median, the line through it its 95 % interval (of few values: from the least to "
    "the most), the dashed line the target. Blue is Reprieve, orange what it stands beside, "
    "measured in the same run. The small size shows that all of it runs, and how far apart things "
    "are; what counts is each bench at its full size, on a machine with nothing else to do."
)

STYLE = """
:root { color-scheme: light dark; } body { margin: 2rem auto; max-width: 880px; padding: 0 1rem;
font: 16px/1.5 system-ui, sans-serif; background: #ffffff; color: #16222e; }
svg { width: 100%; height: auto; } table { border-collapse: collapse; }
td, th { padding: .2rem .8rem; border: 1px solid #7d8fa1; text-align: left; }
.verdict { font-weight: 600; }
.missed, .failed { border-left: 6px solid #b35900; padding-left: .6rem; }
@media (prefers-color-scheme: dark) { body { background: #14181e; color: #e8eef4; } }
"""


def page(done: Sequence[Stored]) -> str:
    """Return the page of some results.

    Raises:
        StoredError: A figure that a plot needs isn't there.
    """
    done = sorted(done, key=lambda one: (*ORDER, one.bench).index(one.bench))
    not_met = [one for one in done if one.verdict != "met"]
    listed = ", ".join(f"{one.bench} ({one.verdict})" for one in not_met)
    picture = beside(done)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Benchmarks</title>',
        f"<style>{STYLE}</style></head><body><h1>Benchmarks</h1>",
        f"<p>{READING}</p>",
        f"<p>{len(done)} benches; "
        + (f"not met: {escape(listed)}." if listed else "all met.")
        + "</p>",
        svg(picture) if picture is not None else "",
        _machines(done),
        *(section(one) for one in done),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def section(stored: Stored) -> str:
    """Return what the page says of one bench."""
    subject = SUBJECTS.get(stored.bench)
    heading = subject.heading if subject else stored.bench
    lines = [
        f'<section id="{escape(stored.bench)}"><h2>{escape(heading)}</h2>',
        f'<p class="verdict {stored.verdict}">{VERDICTS[stored.verdict]}</p>',
        f"<p>{escape(subject.meaning)}</p>" if subject else "",
    ]
    if stored.result is None:
        lines.append(f"<p><code>{escape(str(stored.error))}</code></p>")
    elif subject:
        lines += [svg(chart_of(plot, stored.result, stored.bench)) for plot in subject.plots]
    else:
        lines.append(_table(stored))
    load = stored.machine.get("load_1min")
    lines.append(
        f"<p><small><code>bench/{escape(stored.bench)}.py</code>, {escape(stored.size)} size, "
        f"{stored.wall_s:.0f} s, {escape(stored.ran_at)}, commit {escape(stored.commit)}, "
        f"load {load} when it began</small></p></section>"
    )
    return "\n".join(lines)


def _table(stored: Stored) -> str:
    found = intervals(stored.result or {})
    if not found:
        return f"<pre>{escape(json.dumps(stored.result, indent=1))}</pre>"
    rows = []
    for path, one in found.items():
        low, middle, high = spread(one, f"{stored.bench}: {path}")
        rows.append(
            f"<tr><td>{escape(path)}</td><td>{middle:g}</td><td>{low:g} to {high:g}</td></tr>"
        )
    return f"<table><tr><th>figure</th><th>median</th><th>95 %</th></tr>{''.join(rows)}</table>"


def _machines(done: Iterable[Stored]) -> str:
    """Name each machine that a result is of; normally it is one."""
    named = {
        "; ".join(f"{key} {value}" for key, value in one.machine.items() if key != "load_1min")
        for one in done
    }
    return "".join(f"<p>Machine: {escape(name)}.</p>" for name in sorted(named))
