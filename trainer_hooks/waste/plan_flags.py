"""The command line of ``reprieve-trainer plan``."""

import argparse
from pathlib import Path

from trainer_hooks.waste.flag_types import count, not_negative, percent, positive, whole
from trainer_hooks.waste.pictures import picture_path
from trainer_hooks.waste.plan_help import EXAMPLES, HELP
from trainer_hooks.waste.traces import TimeUnit

USAGE = "reprieve-trainer plan (--nodes N --node-mtbi-hours H | --job-mtbi S) --stall S [...]"


def add_plan_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "plan",
        help="how often to save, what interruptions cost, and whether spot is worth it",
        description=HELP,
        epilog=EXAMPLES,
        usage=USAGE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_times(parser.add_argument_group("the job's times"))
    _add_size(parser.add_argument_group("its size and work"))
    _add_storage(parser.add_argument_group("limits on the interval"))
    _add_levels(parser.add_argument_group("a second, local level of saves"))
    _add_money(parser.add_argument_group("money"))
    _add_notice(parser.add_argument_group("saving at the notice"))
    _add_chance(parser.add_argument_group("chance, bursts and capacity"))
    _add_output(parser.add_argument_group("what comes out"))


def _add_times(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--ledger",
        metavar="DIR",
        help="a checkpoint directory, or its URL: what is not given is taken as a run there has "
        "measured it",
    )
    group.add_argument(
        "--pilot",
        type=Path,
        metavar="FILE",
        help="the same from a log of one's own, or - for the standard input; rows: "
        "seconds,running (or down, waiting, done); seconds,stall,S; seconds,lag,S",
    )
    group.add_argument("--stall", type=positive, metavar="S", help="C")
    group.add_argument("--commit-lag", type=not_negative, metavar="S", help="D; assumed: 0")
    group.add_argument("--restart", type=not_negative, metavar="S", help="R; assumed: 300")
    group.add_argument("--job-mtbi", type=positive, metavar="S", help="M")
    group.add_argument(
        "--node-mtbi-hours", type=positive, metavar="H", help="hours a node lasts: M = H / nodes"
    )
    group.add_argument(
        "--hardware-mtbi-hours",
        type=positive,
        metavar="H",
        help="hours until a node fails by itself; such failures come on top",
    )
    group.add_argument(
        "--step-time", type=positive, metavar="S", help="of a training step: say it in steps too"
    )


def _add_size(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--nodes", type=count, metavar="N", help="assumed: 1, or a trace's most")
    group.add_argument("--gpus-per-node", type=count, metavar="N", help="assumed: 8")
    group.add_argument(
        "--productive-gpu-hours",
        type=positive,
        metavar="H",
        help="work to be done, without any waste; assumed: 100000",
    )


def _add_storage(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--state-bytes", type=positive, metavar="B", help="of one checkpoint, all ranks together"
    )
    group.add_argument(
        "--parameters",
        type=positive,
        metavar="N",
        help="of the model, at 14 bytes each (bf16 weights, fp32 masters, Adam), instead",
    )
    group.add_argument(
        "--storage-bytes-per-s", type=positive, metavar="B", help="what checkpoints may use of it"
    )
    group.add_argument(
        "--overhead",
        type=percent,
        metavar="%",
        help="save as often as this overhead allows, instead of at the optimum",
    )
    group.add_argument(
        "--lag-margin",
        type=not_negative,
        metavar="X",
        default=0.0,
        help="keep the interval at least (1 + X) D, so that a slow commit delays no save",
    )


def _add_levels(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--local-stall", type=positive, metavar="S", help="C of a save to the node's own disk"
    )
    group.add_argument(
        "--soft-mtbi", type=positive, metavar="S", help="between failures that leave the node"
    )


def _add_money(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--on-demand-price", type=positive, metavar="P", help="of a GPU-hour")
    group.add_argument("--spot-price", type=positive, metavar="P", help="of a GPU-hour")
    group.add_argument(
        "--on-demand-share",
        type=percent,
        metavar="%",
        default=0.0,
        help="of the paid hours that are on demand: a base, or a fallback",
    )
    group.add_argument(
        "--storage-price", type=not_negative, metavar="P", default=0.0, help="of a GB kept 30 days"
    )
    group.add_argument(
        "--kept", type=count, metavar="N", default=3, help="checkpoints kept; default: 3"
    )
    group.add_argument(
        "--egress-price",
        type=not_negative,
        metavar="P",
        default=0.0,
        help="of a GB written to where checkpoints are kept",
    )


def _add_notice(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--save-time", type=positive, metavar="S", help="until all is durable; default: C + D"
    )
    group.add_argument("--poll", type=not_negative, metavar="S", default=1.0, help="default: 1")


def _add_chance(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--runs", type=whole, metavar="N", help="to play at random; default: 1000, 0: none"
    )
    group.add_argument(
        "--seed", type=whole, metavar="N", default=1, help="the same gives the same; default: 1"
    )
    group.add_argument(
        "--weibull-shape",
        type=positive,
        metavar="K",
        default=1.0,
        help="below 1 interruptions cluster, above they are regular; default: 1, at random",
    )
    group.add_argument(
        "--burst",
        type=positive,
        metavar="N",
        default=1.0,
        help="nodes an interruption takes in the mean; matters with --capacity-wait",
    )
    group.add_argument(
        "--capacity-wait",
        type=not_negative,
        metavar="S",
        default=0.0,
        help="until lost nodes are replaced, in the mean; default: 0, or within R",
    )
    group.add_argument(
        "--least-nodes",
        type=count,
        metavar="N",
        help="with how many the job still runs (torchrun --nnodes=N:...); default: all",
    )
    group.add_argument(
        "--release-while-waiting",
        action="store_true",
        help="give nodes back while others are waited for, and don't pay them",
    )
    group.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="replay what a pool has done; - for the standard input. Rows: ms,add|remove,node; "
        "time,count; or YYYY-MM-DD, HH:MM:SS, count. Without M its own is taken",
    )
    group.add_argument(
        "--trace-unit",
        type=TimeUnit,
        choices=[TimeUnit.SECONDS, TimeUnit.MILLISECONDS, TimeUnit.HOURS],
        help="of its times, where the guess that is shown is wrong",
    )


def _add_output(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--json", action="store_true", help="for programs")
    group.add_argument(
        "--plot", type=picture_path, metavar="FILE", help="draw it: .png or .html (extra [plot])"
    )
    group.add_argument(
        "--article",
        action="store_true",
        help="show the well-known worked example beside its exact values, and nothing else",
    )
    group.add_argument(
        "--waste-limit",
        type=percent,
        metavar="%",
        default=1 / 3,
        help="from which to change the design, and not the interval; default: a third",
    )
