"""``reprieve-trainer plan``: from the flags to what is shown."""

import argparse
import json
from importlib.util import find_spec

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.article import rows
from trainer_hooks.waste.article_text import article_text
from trainer_hooks.waste.history import Measured
from trainer_hooks.waste.pilot import read_pilot
from trainer_hooks.waste.plan import Plan, make_plan, with_waiting
from trainer_hooks.waste.plan_inputs import inputs_from
from trainer_hooks.waste.plan_json import article_json, plan_json
from trainer_hooks.waste.plan_text import plan_text
from trainer_hooks.waste.played import Assumed, Chance, is_playable, play, replay
from trainer_hooks.waste.progress import ProgressBar
from trainer_hooks.waste.report import make_report
from trainer_hooks.waste.traces import read_trace

RUNS = 1000


def run_plan(options: argparse.Namespace) -> str:
    """Return a plan, in words or as JSON.

    Raises:
        ConfigError: The flags say too little, contradict each other, or ask for what is not
            installed.
        UntrustedFileError: The trace is none.
    """
    if options.article:
        table = rows()
        return json.dumps(article_json(table), indent=2) if options.json else article_text(table)
    trace = None if options.trace is None else read_trace(options.trace, options.trace_unit)
    plan = make_plan(inputs_from(options, trace, _measured(options)))
    assumed = Assumed(
        runs=RUNS if options.runs is None else options.runs,
        seed=options.seed,
        weibull_shape=options.weibull_shape,
        burst=options.burst,
        capacity_wait_s=options.capacity_wait,
        least_nodes=options.least_nodes,
        is_released_while_waiting=options.release_while_waiting,
    )
    replayed = None if trace is None else replay(plan, trace, assumed)
    chance = _chance(plan, assumed, is_asked_for=_is_asked_for(options))
    if chance is not None and assumed.capacity_wait_s:
        plan = with_waiting(plan, chance.slowdown.mean, chance.split)
    if options.plot is not None:
        from trainer_hooks.waste.plan_plot import plot_plan  # noqa: PLC0415 - an extra, and slow

        plot_plan(options.plot, plan, chance, replayed)
    if options.json:
        return json.dumps(plan_json(plan, chance, replayed), indent=2)
    return plan_text(plan, chance, replayed)


def _measured(options: argparse.Namespace) -> Measured | None:
    if options.ledger is not None and options.pilot is not None:
        raise ConfigError("--ledger and --pilot both say what was measured; give one of them")
    if options.pilot is not None:
        return Measured(history=read_pilot(options.pilot))
    return None if options.ledger is None else make_report(options.ledger).measured


def _is_asked_for(options: argparse.Namespace) -> bool:
    """Tell whether runs have to be played: without them nothing would come of what was said."""
    return options.runs is not None or options.capacity_wait > 0


def _chance(plan: Plan, assumed: Assumed, *, is_asked_for: bool) -> Chance | None:
    if not assumed.runs or (not is_asked_for and not is_playable(plan, assumed)):
        return None
    if find_spec("numpy") is None:
        if is_asked_for:
            raise ConfigError("playing runs at random needs numpy, of reprieve's extra [torch]")
        return None
    return play(plan, assumed, ProgressBar("playing runs"))
