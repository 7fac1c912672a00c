"""A plan in words."""

from collections.abc import Iterator

from trainer_hooks.waste.choice import Bound
from trainer_hooks.waste.inputs import Inputs, Origin
from trainer_hooks.waste.levels import TwoLevels
from trainer_hooks.waste.levers import Lever
from trainer_hooks.waste.plan import Judgement, Plan
from trainer_hooks.waste.played import PARTS, Chance, Replayed
from trainer_hooks.waste.words import amount, bar, digits, duration, regularity, share, size

_WHY = {
    Bound.OPTIMUM: "the exact optimum",
    Bound.COMMIT_LAG: "as often as commits allow (T >= D): the optimum would be shorter",
    Bound.BANDWIDTH: "as often as the storage allows: the optimum would be shorter",
    Bound.OVERHEAD: "as often as the allowed overhead allows",
}

_MEANS = {
    "M": "between interruptions of the job",
    "C": "stall of a save",
    "D": "from the stall to the commit",
    "R": "restart, paid",
}

_HOW = {
    "C": "save asynchronously, so that only the copy to the host's memory stalls",
    "D": "write faster, or fewer bytes",
    "R": "keep a warm standby, pull the image ahead, load the checkpoint faster",
    "wait": "let the job shrink (--least-nodes), give nodes back, or fall back to on demand",
    "M": "spread over more pools, put a base on demand, or use fewer nodes",
}


def plan_text(plan: Plan, chance: Chance | None, replayed: Replayed | None) -> str:
    """Say a plan, and what chance and a trace make of it."""
    sections = [_inputs(plan.inputs), _interval(plan), _paid(plan, chance)]
    if plan.bill is not None:
        sections.append(_bill(plan, chance))
    sections += [_verdict(plan), _changes(plan), _notices(plan)]
    if plan.levels is not None:
        sections.append(_levels(plan.levels))
    if replayed is not None:
        sections.append(_replayed(replayed))
    return "\n\n".join("\n".join(section) for section in sections)


def _inputs(inputs: Inputs) -> Iterator[str]:
    costs, origins = inputs.costs, inputs.origins
    yield (
        f"{amount(inputs.productive_gpu_hours)} productive GPU-hours on {inputs.nodes} "
        f"node{'s' * (inputs.nodes > 1)} of {inputs.gpus_per_node} GPUs: "
        f"{duration(inputs.productive_s)} if nothing came between"
    )
    values = {
        "M": costs.mtbi_s,
        "C": costs.stall_s,
        "D": costs.commit_lag_s,
        "R": costs.restart_s,
    }
    for letter, seconds in values.items():
        origin = origins.get(letter, Origin.GIVEN)
        yield f"  {letter}  {duration(seconds):<10} {_MEANS[letter]:<34} {origin}"
    if inputs.mtbi_range_s is not None:
        low, high = map(duration, inputs.mtbi_range_s)
        yield f"     M is between {low} and {high}, with a chance of 90 %"
    if inputs.origins.get("M") is Origin.ASSUMED:
        yield "     no interruption has come yet: as if half a one had; --job-mtbi S says better"
    if inputs.dispersion is not None:
        yield f"     {regularity(inputs.dispersion)}"
    assumed = [name for name, origin in origins.items() if origin is Origin.ASSUMED]
    if more := [name for name in assumed if len(name) > 1]:
        yield f"  assumed too: {', '.join(more)}"


def _interval(plan: Plan) -> Iterator[str]:
    choice = plan.choice
    steps = "" if plan.interval_steps is None else f", {plan.interval_steps} steps"
    yield f"Save every {duration(plan.interval_s)} of training{steps}: {_WHY[choice.bound]}"
    yield (
        f"  exact {digits(choice.exact_s)} s, Daly {digits(choice.daly_s)} s, "
        f"Young {digits(choice.young_s)} s; being 1.25 times off costs next to nothing"
    )
    if plan.traffic is not None:
        traffic = plan.traffic
        yield (
            f"  the storage takes {size(traffic.bytes_per_s)} every second, "
            f"{size(traffic.bytes_a_week)} a week"
        )
        if traffic.to_commit_bytes_per_s is not None:
            yield f"  and {size(traffic.to_commit_bytes_per_s)} a second while it writes, to hold D"


def _paid(plan: Plan, chance: Chance | None) -> Iterator[str]:
    hours = amount(plan.paid_gpu_hours)
    yield f"You pay {hours} GPU-hours, {plan.slowdown:.3f} for each that lasts"
    for part in PARTS:
        fraction = getattr(plan.split, part)
        if part != "waiting" or fraction:
            yield f"  {part:<11}{share(fraction):>7}  {bar(fraction)}"
    if chance is not None:
        low, high = map(amount, chance.paid_gpu_hours)
        days = chance.elapsed_days
        yield (
            f"  9 of 10 runs pay {low} to {high}, and take {digits(days.low)} to "
            f"{digits(days.high)} days ({chance.runs:,} played, seed {chance.seed})"
        )


def _bill(plan: Plan, chance: Chance | None) -> Iterator[str]:
    bill, prices = plan.bill, plan.inputs.prices
    if bill is None or prices is None:
        return
    yield f"It costs {amount(bill.total)}, where on demand it would cost {amount(bill.on_demand)}"
    headline = 1 - prices.mixed / prices.on_demand
    yield f"  saved: {share(bill.saving_fraction)}; the prices promise {share(headline)}"
    hour = bill.total / plan.inputs.productive_gpu_hours
    yield f"  a GPU-hour that lasts costs {hour:.2f}; on demand {prices.on_demand:.2f}"
    if chance is not None and chance.cost is not None:
        low, high = map(amount, chance.cost)
        yield f"  9 of 10 runs cost {low} to {high}"
    if bill.storage or bill.egress:
        yield f"  of it storage {amount(bill.storage)}, egress {amount(bill.egress)}"


def _verdict(plan: Plan) -> Iterator[str]:
    wasted, limit = share(plan.wasted_fraction), share(plan.inputs.waste_limit)
    best = plan.levers[0]
    if plan.judgement is Judgement.SOUND:
        yield f"Verdict: sound. {wasted} of the paid time is wasted, less than {limit}"
    elif plan.judgement is Judgement.REDESIGN:
        yield f"Verdict: change the design. {wasted} is wasted, and no interval mends that"
    else:
        yield f"Verdict: not on spot as it is. {wasted} is wasted, so it is dearer than on demand"
    if plan.judgement is not Judgement.SOUND:
        yield f"  pull this lever first: {best.what}, for {_gain(plan, best)}"
        yield f"  {_HOW[best.what.split()[-1]]}"
    if plan.inputs.costs.restart_s >= plan.inputs.costs.mtbi_s:
        yield "  a restart takes longer than the job runs after it: R >= M is no way to train"
    if plan.split.waiting:
        yield "  waiting for capacity aside,"
    yield f"  {limit} would be wasted with {_nodes(plan.nodes_to_limit)}"
    if plan.nodes_to_break_even is not None:
        yield f"  spot would save nothing with {_nodes(plan.nodes_to_break_even)}"


def _nodes(number: float) -> str:
    return f"{number:,.0f} such nodes" if number >= 1 else "less than one such node"


def _gain(plan: Plan, lever: Lever) -> str:
    text = f"{100 * lever.saved_fraction:.2f} % of the paid hours"
    if plan.bill is not None:
        text += f", {amount(plan.bill.compute * lever.saved_fraction)}"
    return text


def _changes(plan: Plan) -> Iterator[str]:
    yield "What a change would buy"
    for lever in (*plan.levers, *plan.units):
        yield f"  {lever.what:<20} {_gain(plan, lever)}"


def _notices(plan: Plan) -> Iterator[str]:
    yield "A save begun at the notice (a bonus: the plan counts on none)"
    for at in plan.at_notice:
        yield (
            f"  {at.window.name:<16} {at.window.notice_s:>4.0f} s  "
            f"{share(at.odds):>7}  {at.verdict}"
        )


def _levels(levels: TwoLevels) -> Iterator[str]:
    if not levels.is_local_useful:
        yield "Local saves would be of no use: durable ones would come as often"
        return
    local, durable = duration(levels.local_s), duration(levels.durable_s)
    yield f"Local saves every {local} would let durable ones wait for {durable}"
    yield f"  saves and rework would be {share(levels.overhead)} of the productive time"


def _replayed(replayed: Replayed) -> Iterator[str]:
    trace = replayed.trace
    yield (
        f"Trace {trace.name}: {duration(trace.span_s)} of at most {trace.peak_nodes} nodes "
        f"(its times read as {trace.unit})"
    )
    yield (
        f"  {replayed.events} interruptions took {replayed.node_losses} nodes, "
        f"{replayed.largest_loss} at once at most; M was {duration(replayed.own_mtbi_s)}"
    )
    if replayed.dispersion is not None:
        yield f"  {regularity(replayed.dispersion)}"
    low, high = replayed.losses.wasted_range
    yield (
        f"  replayed at this plan's M: {share(replayed.losses.wasted_fraction)} wasted "
        f"({share(low)} to {share(high)} by where it begins); "
        f"the formula says {share(replayed.exact_wasted_fraction)}"
    )
    if replayed.node_losses > replayed.events:  # else there was no burst to speak of
        yield (
            f"  counting each lost node by itself would say "
            f"{share(replayed.independent_wasted_fraction)}: bursts cost less than that"
        )
    capacity, needed = replayed.capacity, replayed.size
    yield (
        f"  there were {needed.least_nodes} nodes or more {share(replayed.capacity_share)} of the "
        f"time; a job of {needed.least_nodes} to {needed.nodes} waits "
        f"{share(capacity.share('waiting_s'))} and wastes {share(capacity.wasted_fraction)} of "
        "what it pays"
    )
    if replayed.pair_loss:
        yield (
            f"  the largest burst takes both nodes of a pair with a chance of "
            f"{share(replayed.pair_loss)}: no place for replicas in one pool"
        )
