"""A plan for programs. Times are seconds, sizes bytes, shares from 0 to 1."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TypeAlias

from trainer_hooks.waste.article import PRODUCTIVE_GPU_HOURS, Row
from trainer_hooks.waste.inputs import Inputs
from trainer_hooks.waste.interval import FirstOrder
from trainer_hooks.waste.levers import Lever
from trainer_hooks.waste.plan import Plan
from trainer_hooks.waste.played import PARTS, Chance, Replayed
from trainer_hooks.waste.replay import Replay

Out: TypeAlias = Mapping[str, object]


def plan_json(plan: Plan, chance: Chance | None, replayed: Replayed | None) -> Out:
    """Return a plan, and what chance and a trace make of it."""
    inputs, choice, bill, traffic = plan.inputs, plan.choice, plan.bill, plan.traffic
    return {
        "schema": 1,
        "inputs": _inputs(inputs),
        "job_mtbi_s": inputs.costs.mtbi_s,
        "interval_s": {
            "young": choice.young_s,
            "daly": choice.daly_s,
            "exact": choice.exact_s,
            "chosen": plan.interval_s,
        },
        "interval_bound": choice.bound,
        "interval_steps": plan.interval_steps,
        "slowdown": plan.slowdown,
        "overhead": plan.slowdown - 1,
        "wasted_fraction": plan.wasted_fraction,
        "split": {part: getattr(plan.split, part) for part in PARTS},
        "first_order": _first_order(plan.first_order),
        "productive_gpu_hours": inputs.productive_gpu_hours,
        "paid_gpu_hours": plan.paid_gpu_hours,
        "cost": None if bill is None else bill.total,
        "cost_parts": None
        if bill is None
        else {"compute": bill.compute, "storage": bill.storage, "egress": bill.egress},
        "on_demand_cost": None if bill is None else bill.on_demand,
        "saving_fraction": None if bill is None else bill.saving_fraction,
        "cost_per_productive_gpu_hour": None
        if bill is None
        else bill.total / inputs.productive_gpu_hours,
        "required_bytes_per_s": None if traffic is None else traffic.bytes_per_s,
        "bytes_per_week": None if traffic is None else traffic.bytes_a_week,
        "required_bytes_per_s_while_writing": None
        if traffic is None
        else traffic.to_commit_bytes_per_s,
        "nodes_to_waste_limit": plan.nodes_to_limit,
        "nodes_to_break_even": plan.nodes_to_break_even,
        "units": [_lever(lever) for lever in plan.units],
        "levers": [_lever(lever) for lever in plan.levers],
        "emergency": {
            at.window.name: {
                "window_s": at.window.notice_s,
                "odds": at.odds,
                "verdict": at.verdict,
                "source": at.window.source,
            }
            for at in plan.at_notice
        },
        "local_level": None
        if plan.levels is None
        else {
            "local_interval_s": plan.levels.local_s,
            "durable_interval_s": plan.levels.durable_s,
            "overhead": plan.levels.overhead,
            "is_useful": plan.levels.is_local_useful,
        },
        "verdict": plan.judgement,
        "monte_carlo": None if chance is None else _chance(chance),
        "trace": None if replayed is None else _replayed(replayed),
    }


def article_json(rows: tuple[Row, ...]) -> Out:
    """Return the worked example, as it is told and as it is."""
    return {
        "schema": 1,
        "productive_gpu_hours": PRODUCTIVE_GPU_HOURS,
        "rows": {
            row.name: {
                "told": {
                    "interval_s": row.told_interval_s,
                    **_first_order(row.told),
                    "paid_gpu_hours": row.told_paid_gpu_hours,
                    "saving_fraction": row.told_saving_fraction,
                },
                "exact": {
                    "interval_s": row.exact_interval_s,
                    "slowdown": row.exact_slowdown,
                    "wasted_fraction": 1 - row.exact.productive,
                    "split": {part: getattr(row.exact, part) for part in row.exact.__slots__},
                    "paid_gpu_hours": row.exact_paid_gpu_hours,
                    "saving_fraction": row.exact_saving_fraction,
                },
            }
            for row in rows
        },
    }


def _inputs(inputs: Inputs) -> Out:
    costs = inputs.costs
    return {
        "stall_s": costs.stall_s,
        "commit_lag_s": costs.commit_lag_s,
        "restart_s": costs.restart_s,
        "nodes": inputs.nodes,
        "gpus_per_node": inputs.gpus_per_node,
        "state_bytes": inputs.limits.state_bytes,
        "job_mtbi_90_percent_s": inputs.mtbi_range_s,
        "dispersion": None if inputs.dispersion is None else asdict(inputs.dispersion),
        "prices": None
        if inputs.prices is None
        else {
            "on_demand": inputs.prices.on_demand,
            "spot": inputs.prices.spot,
            "on_demand_share": inputs.prices.on_demand_share,
        },
        "origins": dict(inputs.origins),
    }


def _first_order(terms: FirstOrder) -> dict[str, float]:
    return {
        "save": terms.save,
        "rework": terms.rework,
        "restart": terms.restart,
        "total": terms.total,
    }


def _lever(lever: Lever) -> Out:
    return {
        "what": lever.what,
        "slowdown": lever.slowdown,
        "saved_fraction": lever.saved_fraction,
    }


def _chance(chance: Chance) -> Out:
    slow, days = chance.slowdown, chance.elapsed_days
    return {
        "runs": chance.runs,
        "seed": chance.seed,
        "slowdown": {
            "mean": slow.mean,
            "sem": slow.sem if chance.runs > 1 else None,
            "p5": slow.low,
            "p95": slow.high,
        },
        "split": {part: getattr(chance.split, part) for part in PARTS},
        "paid_gpu_hours": {"p5": chance.paid_gpu_hours[0], "p95": chance.paid_gpu_hours[1]},
        "cost": None if chance.cost is None else {"p5": chance.cost[0], "p95": chance.cost[1]},
        "elapsed_days": {"mean": days.mean, "p5": days.low, "p95": days.high},
    }


def _replayed(replayed: Replayed) -> Out:
    trace = replayed.trace
    return {
        "name": trace.name,
        "time_unit": trace.unit,
        "span_s": trace.span_s,
        "peak_nodes": trace.peak_nodes,
        "interruptions": replayed.events,
        "node_losses": replayed.node_losses,
        "largest_loss": replayed.largest_loss,
        "job_mtbi_s": replayed.own_mtbi_s,
        "dispersion": None if replayed.dispersion is None else asdict(replayed.dispersion),
        "node_mtbi_hours": replayed.node_mtbi_hours,
        "losses": _replay(replayed.losses),
        "exact_wasted_fraction": replayed.exact_wasted_fraction,
        "independent_nodes_wasted_fraction": replayed.independent_wasted_fraction,
        "pair_loss_probability": replayed.pair_loss,
        "capacity": {
            "nodes": replayed.size.nodes,
            "least_nodes": replayed.size.least_nodes,
            "share_of_time": replayed.capacity_share,
            **_replay(replayed.capacity),
        },
    }


def _replay(replay: Replay) -> dict[str, object]:
    low, high = replay.wasted_range
    return {
        "wasted_fraction": replay.wasted_fraction,
        "wasted_fraction_p5": low,
        "wasted_fraction_p95": high,
        "phases": len(replay.phases),
        "split": {part: replay.share(f"{part}_s") for part in PARTS},
    }
