"""From the flags of ``plan`` to its inputs, with the origin of each figure."""

import argparse
from dataclasses import dataclass, field

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.choice import Limits
from trainer_hooks.waste.emergency import Save
from trainer_hooks.waste.history import Measured
from trainer_hooks.waste.inputs import Inputs, Local, Origin, Prices
from trainer_hooks.waste.interval import Costs
from trainer_hooks.waste.storage import state_bytes
from trainer_hooks.waste.traces import Trace

ASSUMED_RESTART_S = 300.0
"""Five minutes, the worked example's: a node at hand, its image pulled before."""

ASSUMED_GPUS_PER_NODE = 8
ASSUMED_GPU_HOURS = 100_000.0


@dataclass(slots=True)
class _Origins:
    """Notes where figures come from, while they are looked up."""

    noted: dict[str, Origin] = field(default_factory=dict)

    def take(
        self, name: str, given: float | None, assumed: float, measured: float | None = None
    ) -> float:
        """Return a given figure, else a measured one, else the assumed one."""
        if given is not None:
            self.noted[name] = Origin.GIVEN
            return given
        self.noted[name] = Origin.ASSUMED if measured is None else Origin.MEASURED
        return assumed if measured is None else measured


def inputs_from(
    options: argparse.Namespace, trace: Trace | None = None, run: Measured | None = None
) -> Inputs:
    """Return what the flags, a trace, and the ledger of a run say.

    Raises:
        ConfigError: C or M is said nowhere, or flags contradict each other.
    """
    measured = _measured(run)
    origins = _Origins()
    peak = 1 if trace is None else trace.peak_nodes
    nodes = int(origins.take("nodes", options.nodes, peak, None if run is None else run.nodes))
    of_run = None if run is None else run.gpus_per_node
    gpus = origins.take("gpus-per-node", options.gpus_per_node, ASSUMED_GPUS_PER_NODE, of_run)
    mtbi_s = _mtbi_s(options, nodes, trace, origins) or measured.get("M")
    if options.stall is None and not measured:
        raise ConfigError(
            "plan needs C, the stall of a save: --stall S, or the --ledger or --pilot of a run "
            "that has saved (plan --help explains it)"
        )
    if mtbi_s is None:
        raise ConfigError(
            "plan needs M, the time between interruptions: --nodes N --node-mtbi-hours H, "
            "--job-mtbi S, a --trace with an interruption, or the --ledger or --pilot of a run "
            "(plan --help explains it)"
        )
    is_measured = origins.noted["M"] is Origin.MEASURED
    if is_measured and run is not None and not run.history.interruptions:
        origins.noted["M"] = Origin.ASSUMED
    costs = Costs(
        mtbi_s=mtbi_s,
        stall_s=origins.take("C", options.stall, 0.0, measured.get("C")),
        commit_lag_s=origins.take("D", options.commit_lag, 0.0, measured.get("D")),
        restart_s=origins.take("R", options.restart, ASSUMED_RESTART_S, measured.get("R")),
        can_restart_fail=not is_measured,  # a measured M is of running time alone
    )
    return Inputs(
        costs=costs,
        limits=_limits(options),
        nodes=nodes,
        gpus_per_node=int(gpus),
        productive_gpu_hours=origins.take(
            "productive-gpu-hours", options.productive_gpu_hours, ASSUMED_GPU_HOURS
        ),
        prices=_prices(options),
        step_s=options.step_time,
        save=Save(
            median_s=options.save_time or costs.stall_s + costs.commit_lag_s,
            step_s=options.step_time or 0.0,
            poll_s=options.poll,
        ),
        local=_local(options),
        waste_limit=options.waste_limit,
        mtbi_range_s=_range_s(run) if is_measured else None,
        dispersion=run.history.dispersion if is_measured and run is not None else None,
        origins=origins.noted,
    )


def _measured(run: Measured | None) -> dict[str, float]:
    """Return what a run has measured, by its letter; M stands in before an interruption, too."""
    costs = None if run is None else run.costs
    if run is None or costs is None:
        return {}
    found = {"M": costs.mtbi_s, "C": costs.stall_s}
    if run.history.lags_s:
        found["D"] = costs.commit_lag_s
    if run.history.restarts_s:
        found["R"] = costs.restart_s
    return found


def _range_s(run: Measured | None) -> tuple[float, float] | None:
    if run is None:
        return None
    return run.history.mtbi.quantile_s(0.05), run.history.mtbi.quantile_s(0.95)


def _mtbi_s(
    options: argparse.Namespace, nodes: int, trace: Trace | None, origins: _Origins
) -> float | None:
    """Return M by the flags or the trace; None where only a run's ledger can say it."""
    origins.noted["M"] = Origin.GIVEN
    if options.job_mtbi is not None and options.node_mtbi_hours is not None:
        raise ConfigError("--job-mtbi and --node-mtbi-hours both say M; give one of them")
    if options.job_mtbi is not None:
        rate = 1 / options.job_mtbi
    elif options.node_mtbi_hours is not None:
        if options.nodes is None:
            raise ConfigError("--node-mtbi-hours says M only together with --nodes")
        rate = nodes / (options.node_mtbi_hours * 3600)
    elif trace is not None and trace.losses:
        origins.noted["M"] = Origin.TRACE
        rate = len(trace.losses) / trace.span_s
    else:
        origins.noted["M"] = Origin.MEASURED
        return None
    if options.hardware_mtbi_hours is not None:
        rate += nodes / (options.hardware_mtbi_hours * 3600)
    return float(1 / rate)


def _limits(options: argparse.Namespace) -> Limits:
    if options.state_bytes is not None and options.parameters is not None:
        raise ConfigError("--state-bytes and --parameters both say the size; give one of them")
    size = options.state_bytes
    if options.parameters is not None:
        size = state_bytes(options.parameters)
    if options.storage_bytes_per_s is not None and size is None:
        raise ConfigError(
            "--storage-bytes-per-s says nothing without --state-bytes or --parameters"
        )
    return Limits(
        state_bytes=size,
        bytes_per_s=options.storage_bytes_per_s,
        overhead=options.overhead,
        lag_margin=options.lag_margin,
    )


def _local(options: argparse.Namespace) -> Local | None:
    if options.local_stall is None and options.soft_mtbi is None:
        return None
    if options.local_stall is None or options.soft_mtbi is None:
        raise ConfigError("--local-stall and --soft-mtbi say something only together")
    return Local(stall_s=options.local_stall, soft_mtbi_s=options.soft_mtbi)


def _prices(options: argparse.Namespace) -> Prices | None:
    if options.on_demand_price is None and options.spot_price is None:
        return None
    if options.on_demand_price is None or options.spot_price is None:
        raise ConfigError("--on-demand-price and --spot-price say something only together")
    return Prices(
        on_demand=options.on_demand_price,
        spot=options.spot_price,
        on_demand_share=options.on_demand_share,
        storage_gb_month=options.storage_price,
        kept=options.kept,
        egress_gb=options.egress_price,
    )
