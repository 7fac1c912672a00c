"""A plan as four pictures on a slide."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.waste.interval import split
from trainer_hooks.waste.pictures import COLOURS, FAINT, INK, Panel, draw
from trainer_hooks.waste.plan import Plan
from trainer_hooks.waste.plan_text import plan_text
from trainer_hooks.waste.played import PARTS, Chance, Replayed
from trainer_hooks.waste.words import amount, duration, share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator

POINTS = 200
LOST = ("restart", "rework", "save")

TICKS_S = [
    unit * step
    for unit, steps in (
        (0.01, (1, 3)),
        (0.1, (1, 3)),
        (1, (1, 3, 10, 30)),
        (60, (1, 3, 10, 30)),
        (3600, (1, 3, 10, 30)),
        (86_400, (3, 10, 30, 100)),
    )
    for step in steps
]
"""Intervals that people know."""


def plot_plan(path: Path, plan: Plan, chance: Chance | None, replayed: Replayed | None) -> None:
    """Draw a plan.

    Raises:
        ConfigError: It cannot be drawn, or not there.
    """
    inputs = plan.inputs
    title = (
        f"{inputs.nodes} node{'s' * (inputs.nodes > 1)}, interrupted every "
        f"{duration(inputs.costs.mtbi_s)}: save every {duration(plan.interval_s)}, "
        f"waste {share(plan.wasted_fraction)}"
    )
    panels: list[Panel] = [
        lambda axes: _waste(axes, plan),
        lambda axes: _where(axes, plan, chance, replayed),
    ]
    if plan.bill is not None:
        panels.append(lambda axes: _money(axes, plan, chance))
    else:
        panels.append(lambda axes: _changes(axes, plan))
    if replayed is not None:
        panels.append(lambda axes: _timeline(axes, replayed))
    elif chance is not None and chance.runs > 1:
        panels.append(lambda axes: _runs(axes, plan, chance))
    draw(path, title, panels, plan_text(plan, chance, replayed))


def _waste(axes: "Axes", plan: Plan) -> None:
    """Draw waste against the interval, stacked, with the optimum."""
    costs, best = plan.inputs.costs, plan.interval_s
    low, high = best / 10, best * 10
    at_s = [low * math.pow(high / low, step / POINTS) for step in range(POINTS + 1)]
    parts = [split(costs, seconds) for seconds in at_s]
    stacks = [[100 * getattr(part, name) for part in parts] for name in LOST]
    axes.stackplot(at_s, stacks, labels=LOST, colors=[COLOURS[name] for name in LOST], linewidth=0)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(0, min(100.0, 1.3 * max(map(sum, zip(*stacks, strict=True)))))
    wasted = 100 * (1 - split(costs, best).productive)
    axes.vlines(best, 0, wasted, color=INK, linewidth=1.2)
    axes.plot([best], [wasted], "o", color=INK, markersize=8)
    aside = ", waiting aside" if plan.split.waiting else ""
    axes.annotate(
        f"save every {duration(best)}: {wasted:.1f} % is wasted{aside}",
        (best, wasted),
        (0.5, 0.97),
        textcoords="axes fraction",
        ha="center",
        va="top",
        arrowprops={"arrowstyle": "-", "color": FAINT, "shrinkB": 6},
    )
    young = plan.choice.young_s
    axes.plot([young], [0], "^", color=INK, markersize=8, clip_on=False)
    axes.annotate("Young", (young, 0), (7, 5), textcoords="offset points", fontsize=9)
    ticks = [tick for tick in TICKS_S if low <= tick <= high]
    axes.set_xticks(ticks, [duration(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_title("Waste against the interval")
    axes.set_xlabel("training between two saves")
    axes.set_ylabel("% of the paid time")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=len(LOST))


def _where(axes: "Axes", plan: Plan, chance: Chance | None, replayed: Replayed | None) -> None:
    """Draw where the paid time goes: by the formula, by chance, on the trace."""
    planned = {part: getattr(plan.split, part) for part in PARTS}
    rows = {} if plan.split.waiting else {"by the formula": planned}
    if chance is not None:
        rows[f"{chance.runs:,} runs at random"] = {
            part: getattr(chance.split, part) for part in PARTS
        }
    if replayed is not None:
        for name, replay in (
            ("the trace's interruptions", replayed.losses),
            ("the trace's capacity", replayed.capacity),
        ):
            rows[name] = {part: replay.share(f"{part}_s") for part in PARTS}
    names = list(rows)[::-1]
    left = [0.0] * len(names)
    for part in PARTS:
        widths = [100 * rows[name].get(part, 0.0) for name in names]
        if not any(widths):
            continue
        bars = axes.barh(names, widths, left=left, color=COLOURS[part], label=part, height=0.62)
        labels = [f"{width:.1f}" if width >= 4 else "" for width in widths]
        axes.bar_label(bars, labels, label_type="center", fontsize=10)
        left = [begin + width for begin, width in zip(left, widths, strict=True)]
    axes.set_xlim(0, 100)
    axes.set_ylim(-0.5 - 0.5 * (len(names) == 1), len(names) - 0.5 + 0.5 * (len(names) == 1))
    axes.set_title("Where the paid time goes")
    axes.set_xlabel("% of the paid time")
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=len(PARTS))


def _money(axes: "Axes", plan: Plan, chance: Chance | None) -> None:
    """Draw what it costs: on demand, what spot's price promises, what spot really costs."""
    bill, inputs = plan.bill, plan.inputs
    if bill is None or inputs.prices is None:
        return
    promised = inputs.productive_gpu_hours * inputs.prices.mixed
    real, low, high = bill.total, 0.0, 0.0
    if chance is not None and chance.cost is not None:
        low, high = chance.cost
    names = ["on demand", "spot, as priced", "spot, as paid"]
    values = [bill.on_demand, promised, real]
    axes.bar(names, values, color=[COLOURS["waiting"], "#a8d5cf", COLOURS["productive"]], width=0.6)
    saved = [f"saves {share(1 - value / bill.on_demand)}" for value in values]
    labels = [f"{amount(value)}\n{text}" for value, text in zip(values, saved, strict=True)]
    labels[0] = amount(values[0])
    for at, (label, value) in enumerate(zip(labels, values, strict=True)):
        top = max(value, high if at == len(values) - 1 else 0.0)
        axes.annotate(label, (at, top), (0, 5), textcoords="offset points", ha="center")
    if high:
        axes.errorbar(
            [2],
            [real],
            yerr=[[max(0.0, real - low)], [max(0.0, high - real)]],
            color=INK,
            capsize=6,
        )
    axes.set_ylim(0, 1.22 * max(values))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", length=0)
    axes.set_title(f"What {amount(inputs.productive_gpu_hours)} productive GPU-hours cost")


def _changes(axes: "Axes", plan: Plan) -> None:
    """Draw what each lever would buy."""
    levers = plan.levers[::-1]
    bars = axes.barh(
        [lever.what for lever in levers],
        [100 * lever.saved_fraction for lever in levers],
        color=COLOURS["productive"],
        height=0.6,
    )
    axes.bar_label(bars, [share(lever.saved_fraction) for lever in levers], padding=4)
    axes.margins(x=0.15)
    axes.tick_params(axis="y", length=0)
    axes.set_title("What a change would buy")
    axes.set_xlabel("% of the paid hours")


def _timeline(axes: "Axes", replayed: Replayed) -> None:
    """Draw a trace: how many nodes there were, and when some were lost."""
    trace = replayed.trace
    hours = [at / 3600 for at, _ in trace.rows]
    counts = [count for _, count in trace.rows]
    axes.fill_between(hours, counts, step="post", color=COLOURS["productive"], alpha=0.35)
    axes.step(hours, counts, where="post", color=COLOURS["productive"], linewidth=1)
    lost = [loss.at_s / 3600 for loss in trace.losses]
    sizes = [10 + 4 * loss.nodes for loss in trace.losses]
    after = dict(trace.rows)
    ends = [after[loss.at_s] for loss in trace.losses]
    axes.scatter(
        lost, ends, s=sizes, color=COLOURS["restart"], zorder=3, label="interruption, by nodes lost"
    )
    needed = replayed.size.least_nodes
    had = f"the job needs {needed}, and has them {share(replayed.capacity_share)} of the time"
    axes.axhline(needed, color=INK, linewidth=1, linestyle="--", label=had)
    axes.set_xlim(0, hours[-1])
    axes.set_ylim(0, 1.08 * max(counts))
    axes.set_title(f"The pool: {trace.name}", loc="left")
    axes.set_xlabel("hours")
    axes.set_ylabel("nodes")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def _runs(axes: "Axes", plan: Plan, chance: Chance) -> None:
    """Draw how far apart runs end."""
    hours = [value * plan.inputs.productive_gpu_hours for value in chance.values]
    axes.hist(hours, bins=min(60, max(10, chance.runs // 25)), color=COLOURS["productive"])
    low, high = chance.paid_gpu_hours
    axes.axvspan(low, high, color=COLOURS["save"], alpha=0.25, label="9 of 10 runs", zorder=0)
    axes.axvline(plan.paid_gpu_hours, color=INK, linewidth=1.2, label="the plan")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.set_major_locator(_few())
    axes.set_title(f"What chance makes of it: {chance.runs:,} runs")
    axes.set_xlabel("paid GPU-hours")
    axes.legend(loc="upper right")


def _few() -> "MaxNLocator":
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    return MaxNLocator(6)
