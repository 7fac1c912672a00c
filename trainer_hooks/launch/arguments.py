"""What torchrun makes of its arguments, and whether it can: asked before anything is started."""

import contextlib
import io
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch.distributed.run

from trainer_hooks.errors import ConfigError
from trainer_hooks.launch.elastic import with_elastic_times
from trainer_hooks.launch.first_signal import ENDING, heeded
from trainer_hooks.launch.fit import check_fit

TORCHRUN: Any = torch.distributed.run
"""Untyped."""


def understood(arguments: Sequence[str]) -> Any:  # noqa: ANN401 - torchrun's own
    """Return torchrun's options, for an elastic job with the times that suit one.

    Raises:
        ConfigError: torchrun does not know one, or is not the one that our hooks are made for; or
            there is no such script.
    """
    said = io.StringIO()  # forty lines of usage, under our name, and one that says what is wrong
    try:
        with contextlib.redirect_stderr(said):
            options = TORCHRUN.parse_args(arguments)
    except SystemExit as exit_:
        if not exit_.code:
            raise
        raise ConfigError(_complaint(said.getvalue())) from exit_
    _check_script(options)
    options.signals_to_handle = _signals(options.signals_to_handle)
    if is_elastic(options):
        check_fit()
        options.rdzv_conf = with_elastic_times(options.rdzv_conf)
    return options


def _complaint(said: str) -> str:
    """Return what argparse has complained of, without the usage above it."""
    what = said.strip().rpartition("error: ")[2]
    if "training_script" in what:
        return "no script is named: reprieve-trainer launch [torchrun's options] SCRIPT ..."
    return f"torchrun does not understand these arguments: {what} (torchrun --help lists them)"


def is_elastic(options: Any) -> bool:  # noqa: ANN401 - as above
    """Tell whether the job goes on with fewer nodes than it may have."""
    fewest, most = _nodes(options.nnodes)
    return fewest < most and options.rdzv_backend == "c10d"


def ranks_here(nproc_per_node: str) -> int:
    """Return how many ranks are to run here.

    Raises:
        ConfigError: It is no number from 1 on, and no kind of device that is here.
    """
    asked = f"--nproc-per-node={nproc_per_node:.80}"
    try:
        ranks = int(TORCHRUN.determine_local_world_size(nproc_per_node))
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"torchrun can make nothing of {asked}: {error}") from error
    if ranks < 1:
        raise ConfigError(f"{asked} starts no rank: it is a number from 1 on, or a kind of device")
    return ranks


def _nodes(nnodes: str) -> tuple[int, int]:
    """Return how many nodes there are at least and at most.

    Raises:
        ConfigError: It is no number and no range, or no node at all.
    """
    try:
        fewest, most = TORCHRUN.parse_min_max_nnodes(nnodes)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"torchrun can make nothing of --nnodes={nnodes:.80}: {error}") from error
    if not 1 <= fewest <= most:
        raise ConfigError(f"--nnodes={nnodes:.80} is no number of nodes from 1 on, nor MIN:MAX")
    return fewest, most


def _check_script(options: Any) -> None:  # noqa: ANN401 - as above
    script = str(options.training_script)
    if options.no_python and shutil.which(script) is None:
        raise ConfigError(f"there is no program {script!r} that can be run, in PATH or by its path")
    if not options.no_python and not options.module and not Path(script).exists():
        raise ConfigError(
            f"there is no script {script!r}, seen from {Path.cwd()} (on shared storage, perhaps, "
            "that is not mounted here?)"
        )


def _signals(asked: str) -> str:
    """Add to what a user has asked for; without ours a signal would leave orphans behind.

    Raises:
        ConfigError: There is no such signal.
    """
    known = {number.name for number in signal.Signals}
    own = [name.strip() for name in asked.split(",")]
    if unknown := [name for name in own if name not in known]:
        raise ConfigError(f"--signals-to-handle={asked:.80} has no signal in {unknown[0]!r}")
    return ",".join([*heeded(), *(name for name in own if name not in ENDING)])
