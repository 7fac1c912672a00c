"""A report as four pictures on a slide."""

from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.waste.account import PAID, Kind
from trainer_hooks.waste.pictures import COLOURS, INK, draw
from trainer_hooks.waste.report import Report
from trainer_hooks.waste.report_text import report_text
from trainer_hooks.waste.words import duration, share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 40
"""Interruptions that are drawn, the last ones."""

SAVES_DRAWN = 5000
"""More would be one line of ink, and a page of many megabytes."""


def plot_report(path: Path, report: Report) -> None:
    """Draw a report.

    Raises:
        ConfigError: It cannot be drawn, or not there.
    """
    hours = duration(report.ended - report.began)
    title = (
        f"{report.steps:,} steps in {hours}: goodput {share(report.accounts.goodput)}, "
        f"{len(report.interruptions)} interruptions"
    )
    panels = [
        lambda axes: _over_time(axes, report),
        lambda axes: _where(axes, report),
        lambda axes: _interruptions(axes, report),
        lambda axes: _commits(axes, report),
    ]
    draw(path, title, panels, report_text(report))


def _over_time(axes: "Axes", report: Report) -> None:
    """Draw goodput over time, stacked."""
    buckets = report.buckets()
    begin = report.began
    at = [(bucket.began - begin) / 3600 for bucket in buckets]
    widths = [(bucket.ended - bucket.began) / 3600 for bucket in buckets]
    below = [0.0] * len(buckets)
    for kind in Kind:
        shares = [100 * bucket.shares[kind] for bucket in buckets]
        if any(shares):
            axes.bar(at, shares, widths, below, align="edge", color=COLOURS[kind], label=str(kind))
            below = [low + part for low, part in zip(below, shares, strict=True)]
    axes.set_ylim(0, 100)
    axes.set_xlim(0, max((report.ended - begin) / 3600, 1e-9))
    axes.set_title("Goodput over time")
    axes.set_xlabel("hours")
    axes.set_ylabel("% of the paid time")
    if buckets:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)


def _where(axes: "Axes", report: Report) -> None:
    """Draw the waste, and of restarts their parts."""
    accounts = report.accounts
    rows = [(str(kind), kind, accounts.kinds[kind]) for kind in PAID if accounts.kinds[kind]]
    parts = sorted(accounts.parts.items(), key=lambda item: -item[1])
    rows += [(f"restart: {part}", Kind.RESTART, spent) for part, spent in parts if spent]
    rows = [row for row in rows if row[1] is not Kind.PRODUCTIVE][::-1]
    paid = accounts.paid or 1.0
    bars = axes.barh(
        [name for name, _, _ in rows],
        [100 * spent / paid for _, _, spent in rows],
        color=[COLOURS[kind] for _, kind, _ in rows],
        height=0.62,
    )
    for bar_, (name, _, _) in zip(bars, rows, strict=True):
        bar_.set_alpha(0.55 if name.startswith("restart:") else 1.0)
    axes.bar_label(bars, [share(spent / paid) for _, _, spent in rows], padding=4)
    axes.margins(x=0.15)
    axes.tick_params(axis="y", length=0)
    axes.set_title("What was wasted")
    axes.set_xlabel("% of the paid time")


def _interruptions(axes: "Axes", report: Report) -> None:
    """Draw what each interruption cost."""
    shown = report.interruptions[-MOST:]
    at = list(range(len(shown)))
    below = [0.0] * len(shown)
    for kind in (Kind.REWORK, Kind.RESTART, Kind.WAITING):
        spent = [getattr(each, f"{kind}_gpu_s") / 3600 for each in shown]
        if any(spent):
            axes.bar(at, spent, bottom=below, color=COLOURS[kind], label=str(kind), width=0.7)
        below = [low + part for low, part in zip(below, spent, strict=True)]
    marks = ["" if each.noticed_s is None else "n" for each in shown]
    for place, (mark, top) in enumerate(zip(marks, below, strict=True)):
        axes.annotate(mark, (place, top), (0, 3), textcoords="offset points", ha="center")
    axes.set_xticks(at, [str(each.at_step) for each in shown], rotation=45 if len(at) > 8 else 0)
    axes.set_ylim(0, 1.15 * max(below, default=0.0) or 1.0)  # with room for the marks
    axes.set_title("What each interruption cost (n: with a notice)")
    axes.set_xlabel("at step")
    axes.set_ylabel("GPU-hours")
    if any(below):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3)


def _commits(axes: "Axes", report: Report) -> None:
    """Draw how long saves stalled, and took to be committed."""
    begin = report.began
    good: list[tuple[float, float]] = []
    lost: list[tuple[float, float]] = []
    for attempt in report.attempts:
        committed = {commit.step: commit.at for commit in attempt.commits}
        for save in attempt.saves:
            at = committed.get(save.step)
            end = save.ended if at is None else at
            (lost if at is None else good).append(((save.began - begin) / 3600, end - save.began))
    thin = -(-len(good) // SAVES_DRAWN) or 1
    label = "committed after" if thin == 1 else f"committed after, one of {thin}"
    axes.plot(*_columns(good[::thin]), "o", color=COLOURS["productive"], ms=5, label=label)
    if lost:
        lost = lost[-SAVES_DRAWN:]
        axes.plot(*_columns(lost), "x", color=COLOURS["restart"], ms=8, label="never committed")
    if report.health.mean_interval_s is not None:
        label = "a save's interval"
        axes.axhline(report.health.mean_interval_s, color=INK, linestyle="--", label=label)
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, max((report.ended - begin) / 3600, 1e-9))
    axes.set_title("Saves, from their begin to the commit")
    axes.set_xlabel("hours")
    axes.set_ylabel("seconds")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)


def _columns(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
