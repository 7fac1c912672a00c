"""A plan: what follows from the inputs."""

import math

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.choice import Bound, Limits
from trainer_hooks.waste.emergency import Save, Verdict
from trainer_hooks.waste.inputs import Inputs, Prices
from trainer_hooks.waste.interval import Costs, Split
from trainer_hooks.waste.plan import Judgement, make_plan, with_waiting

ASYNC = Costs(stall_s=8, mtbi_s=2250, restart_s=300)
PRICES = Prices(on_demand=4.0, spot=1.6)


def inputs(costs: Costs = ASYNC, prices: Prices | None = PRICES, **more: float) -> Inputs:
    """Return the worked example's inputs."""
    return Inputs(costs=costs, prices=prices, nodes=64, **more)  # type: ignore[arg-type]  # by name


def test_plan_is_the_exact_row_when_the_example_is_planned() -> None:
    """Interval, hours, cost and saving."""
    plan = make_plan(inputs())
    assert f"{plan.interval_s:.6g} {plan.slowdown:.6g}" == "184.441 1.24466"
    assert round(plan.paid_gpu_hours) == 124_466
    assert plan.bill is not None
    assert round(plan.bill.total) == 199_146
    assert f"{plan.bill.saving_fraction * 100:.6g}" == "50.2136"
    assert plan.wasted_fraction == pytest.approx(0.196568, abs=1e-6)
    assert plan.judgement is Judgement.SOUND
    assert plan.nodes_to_limit == pytest.approx(134.7, abs=0.05)
    assert plan.nodes_to_break_even == pytest.approx(343, abs=0.5)


def test_interval_is_in_steps_when_a_step_is_known() -> None:
    """18 of 10 s."""
    plan = make_plan(inputs(step_s=10))
    assert (plan.interval_steps, plan.interval_s) == (18, 180)


def test_storage_is_asked_for_five_gigabytes_when_a_terabyte_is_saved() -> None:
    """5.09 GB/s all the time, and 40 to be committed within 24.5 s."""
    costs = Costs(stall_s=8, mtbi_s=2250, restart_s=300, commit_lag_s=24.5)
    plan = make_plan(Inputs(costs=costs, limits=Limits(state_bytes=0.98e12)))
    assert plan.traffic is not None
    assert plan.traffic.bytes_per_s == pytest.approx(5.09e9, rel=1e-3)
    assert plan.traffic.bytes_a_week == pytest.approx(3.08e15, rel=1e-3)
    assert plan.traffic.to_commit_bytes_per_s == 40e9
    assert make_plan(inputs()).traffic is None


def test_interval_waits_for_the_commit_when_the_storage_is_slow() -> None:
    """4 GB/s: 245 s, and s = 1.39250."""
    costs = Costs(stall_s=8, mtbi_s=2250, restart_s=300, commit_lag_s=245)
    plan = make_plan(inputs(costs))
    assert (plan.interval_s, plan.choice.bound) == (245, Bound.COMMIT_LAG)
    assert f"{plan.slowdown:.6g}" == "1.3925"


def test_lever_is_named_when_more_than_a_third_is_wasted() -> None:
    """And which one buys most."""
    plan = make_plan(inputs(Costs(stall_s=8, mtbi_s=900, restart_s=600)))
    assert plan.judgement is Judgement.REDESIGN
    assert plan.levers[0].what == "double M"
    assert plan.levers[1].what == "halve R"
    assert [lever.saved_fraction for lever in plan.levers] == sorted(
        (lever.saved_fraction for lever in plan.levers), reverse=True
    )


def test_spot_is_called_dearer_when_it_is() -> None:
    """R = M = 600 at a price of 0.4: 1.29 times on demand."""
    plan = make_plan(inputs(Costs(stall_s=8, mtbi_s=600, restart_s=600)))
    assert plan.judgement is Judgement.DEARER
    assert plan.bill is not None
    assert plan.bill.total / plan.bill.on_demand == pytest.approx(1.286, abs=0.001)


def test_unit_buys_its_derivative_when_it_is_one_second() -> None:
    """Of R: 1 - e^(-1/M)."""
    bought = {lever.what: lever.saved_fraction for lever in make_plan(inputs()).units}
    assert set(bought) == {"1 s less of C", "1 s less of R", "1 min more of M"}
    assert bought["1 s less of R"] == pytest.approx(-math.expm1(-1 / 2250), rel=1e-6)
    assert min(bought.values()) > 0


def test_no_unit_is_offered_when_there_is_nothing_to_take_away() -> None:
    """Without a restart, and with a stall of less than a second."""
    plan = make_plan(inputs(Costs(stall_s=0.5, mtbi_s=2250, commit_lag_s=0.2)))
    assert [unit.what for unit in plan.units] == [
        "0.25 s less of C",
        "0.2 s less of D",
        "1 min more of M",
    ]
    assert {lever.what for lever in plan.levers} == {"halve C", "halve D", "double M"}


def test_units_are_in_three_digits_when_a_run_has_measured_them() -> None:
    """A clock's digits are no knowledge, and break the table."""
    measured = Costs(stall_s=0.0034567891, mtbi_s=2250, restart_s=0.1234567, commit_lag_s=0.7654321)
    named = [unit.what for unit in make_plan(inputs(measured)).units]
    assert named == [
        "0.00173 s less of C",
        "0.765 s less of D",
        "0.123 s less of R",
        "1 min more of M",
    ]


def test_bill_has_storage_and_egress_when_they_have_a_price() -> None:
    """Three terabytes for 244 h, and a terabyte for each save."""
    plan = make_plan(
        Inputs(
            costs=ASYNC,
            nodes=64,
            limits=Limits(state_bytes=1e12),
            prices=Prices(on_demand=4, spot=1.6, storage_gb_month=0.02, egress_gb=0.01),
        )
    )
    assert plan.bill is not None
    hours = 100_000 / 512
    assert plan.bill.storage == pytest.approx(3000 * 0.02 * hours * plan.slowdown / 720)
    assert plan.bill.egress == pytest.approx(1000 * 0.01 * hours * 3600 / plan.interval_s)


def test_price_is_mixed_when_a_part_is_on_demand() -> None:
    """A quarter of the hours: 2.20."""
    prices = Prices(on_demand=4.0, spot=1.6, on_demand_share=0.25)
    plan = make_plan(inputs(prices=prices))
    assert plan.bill is not None
    assert plan.bill.compute == pytest.approx(plan.paid_gpu_hours * 2.20)
    never = Prices(on_demand=4.0, spot=1.6, on_demand_share=1.0)
    assert make_plan(inputs(prices=never)).nodes_to_break_even is None


def test_windows_are_judged_when_a_save_takes_what_it_takes() -> None:
    """A minute: within AWS's two minutes, and in nobody else's."""
    plan = make_plan(Inputs(costs=ASYNC, save=Save(median_s=60, step_s=2, poll_s=5)))
    verdicts = {at.window.name: at.verdict for at in plan.at_notice}
    assert verdicts.pop("AWS Spot") is Verdict.SAVES
    assert set(verdicts.values()) == {Verdict.INFEASIBLE}


def test_waiting_is_part_of_the_plan_when_runs_have_shown_it() -> None:
    """Of the bill, of the verdict, and the first lever."""
    waited = with_waiting(
        make_plan(inputs()),
        2.18,
        Split(productive=0.458, save=0.02, rework=0.022, restart=0.071, waiting=0.429),
    )
    assert waited.paid_gpu_hours == pytest.approx(218_000)
    assert waited.bill is not None
    assert waited.bill.total == pytest.approx(348_800)
    assert waited.judgement is Judgement.REDESIGN
    assert waited.levers[0].what == "never wait"
    assert waited.levers[0].saved_fraction == 0.429
    halved = next(lever for lever in waited.levers if lever.what == "halve R")
    assert halved.saved_fraction == pytest.approx((1.24466 - 1.164389) / 2.18, rel=1e-4)


def test_plan_is_refused_when_the_job_would_never_end() -> None:
    """With the numbers that say so."""
    costs = Costs(stall_s=8, mtbi_s=10, restart_s=1e5)
    with pytest.raises(ConfigError, match="never end"):
        make_plan(inputs(costs))


@pytest.mark.parametrize(
    "wrong",
    [
        {"productive_gpu_hours": 0},
        {"gpus_per_node": 0},
        {"step_s": math.nan},
        {"waste_limit": 1.0},
        {"waste_limit": -1},
    ],
)
def test_inputs_are_refused_when_they_make_no_sense(wrong: dict[str, float]) -> None:
    """In words."""
    with pytest.raises(ConfigError):
        inputs(**wrong)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    "wrong",
    [{"spot": 0}, {"on_demand": -1}, {"on_demand_share": 1.5}, {"egress_gb": -1}, {"kept": -1}],
)
def test_prices_are_refused_when_they_are_none(wrong: dict[str, float]) -> None:
    """In words."""
    values = {"on_demand": 4.0, "spot": 1.6} | wrong
    with pytest.raises(ConfigError):
        Prices(**values)  # type: ignore[arg-type]  # by name
