"""``reprieve-trainer plan``, as users call it."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ledgers import example
from tests.support.planned import planned, said
from trainer_hooks import cli
from trainer_hooks.waste.inputs import Origin

EXAMPLE = [
    *("plan", "--nodes", "64", "--node-mtbi-hours", "40", "--stall", "8", "--restart", "300"),
    *("--gpus-per-node", "8", "--productive-gpu-hours", "100000"),
    *("--on-demand-price", "4.00", "--spot-price", "1.60"),
]
SHORT = ["plan", "--job-mtbi", "2250", "--stall", "8", "--runs", "0"]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return why a command is refused."""
    assert cli.run(arguments) == 78
    return capsys.readouterr().err


def test_plan_has_every_key_when_it_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The worked example's exact values."""
    plan = planned(capsys, *EXAMPLE, "--state-bytes", "0.98e12", "--runs", "50")
    assert plan["job_mtbi_s"] == 2250
    intervals = {name: f"{value:.6g}" for name, value in plan["interval_s"].items()}
    assert intervals == {
        "young": "189.737",
        "daly": "184.441",
        "exact": "184.441",
        "chosen": "184.441",
    }
    assert f"{plan['slowdown']:.6g} {plan['wasted_fraction']:.6g}" == "1.24466 0.196568"
    assert sum(plan["split"].values()) == pytest.approx(1, abs=1e-12)
    assert round(plan["paid_gpu_hours"]) == 124_466
    assert round(plan["cost"]) == 199_146
    assert plan["saving_fraction"] == pytest.approx(0.502136, abs=1e-6)
    assert plan["required_bytes_per_s"] == pytest.approx(5.09e9, rel=1e-3)
    assert plan["inputs"]["origins"]["D"] == "assumed"
    assert plan["emergency"]["AWS Spot"]["verdict"] == "saves"
    assert plan["monte_carlo"]["runs"] == 50
    assert plan["trace"] is None


def test_output_is_the_same_when_the_seed_is(capsys: pytest.CaptureFixture[str]) -> None:
    """To the last character, in words and in JSON; another seed gives another one."""
    for more in ([], ["--json"], ["--capacity-wait", "600", "--burst", "2", "--json"]):
        arguments = [*EXAMPLE, "--runs", "30", *more]
        first = said(capsys, *arguments, "--seed", "7")
        assert said(capsys, *arguments, "--seed", "7") == first
        assert said(capsys, *arguments, "--seed", "8") != first


def test_plan_is_readable_when_it_is_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Figures, where they come from, the verdict, and nothing wider than a terminal."""
    text = said(capsys, *EXAMPLE, "--runs", "20", "--state-bytes", "1e12", "--commit-lag", "25")
    for expected in (
        "M  37.5 min   between interruptions of the job   given",
        "Save every 3.07 min of training: the exact optimum",
        "restart     12.",
        "Verdict: sound.",
        "1 s less of C",
        "GKE pod on Spot",
        "9 of 10 runs pay",
    ):
        assert expected in text
    assert max(map(len, text.splitlines())) <= 100


def test_verdict_pulls_a_lever_when_too_much_is_wasted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Which one, and how."""
    text = said(capsys, *SHORT, "--restart", "1800")
    assert "Verdict: change the design." in text
    assert "pull this lever first: double M" in text
    assert "spread over more pools" in text
    hopeless = said(capsys, *SHORT[:-2], "--restart", "12000")  # played by nobody
    assert "R >= M is no way to train" in hopeless


def test_waiting_is_in_the_plan_when_capacity_comes_late(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And gone when the job may shrink."""
    waits = [*EXAMPLE, "--runs", "40", "--capacity-wait", "1800", "--burst", "4"]
    fixed = planned(capsys, *waits)
    assert fixed["split"]["waiting"] > 0.4
    assert fixed["verdict"] == "redesign"
    assert fixed["levers"][0]["what"] == "never wait"
    elastic = planned(capsys, *waits, "--least-nodes", "32")
    assert elastic["split"]["waiting"] < 0.01
    assert "never wait" in said(capsys, *waits)


def test_overhead_is_held_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """At most 2 %: every 400 s, 40 steps of 10 s."""
    plan = planned(capsys, *SHORT, "--overhead", "2%", "--step-time", "10")
    assert plan["interval_s"]["chosen"] == 400
    assert (plan["interval_steps"], plan["interval_bound"]) == (40, "overhead")


def test_size_is_the_models_when_its_parameters_are_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """14 bytes each; and a slow storage makes the interval longer."""
    plan = planned(capsys, *SHORT, "--parameters", "70e9", "--storage-bytes-per-s", "4e9")
    assert plan["inputs"]["state_bytes"] == 9.8e11
    assert plan["interval_s"]["chosen"] == 245 - 8
    assert plan["required_bytes_per_s"] == pytest.approx(4e9)


@pytest.mark.parametrize(
    ("stall", "words"), [("8", "of no use"), ("245", "let durable ones wait for 17.5 min")]
)
def test_local_level_is_judged_when_it_is_known(
    capsys: pytest.CaptureFixture[str], stall: str, words: str
) -> None:
    """Useless where reclaims dominate, unless durable saves are dear."""
    local = ["--local-stall", "1", "--soft-mtbi", "20000"]
    assert words in said(capsys, *SHORT, "--stall", stall, *local)
    plan = planned(capsys, *SHORT, "--stall", stall, *local)
    assert plan["local_level"]["is_useful"] is (stall == "245")


def test_rates_add_when_hardware_fails_too(capsys: pytest.CaptureFixture[str]) -> None:
    """40 h and 40 h are 20 h."""
    plan = planned(
        capsys, "plan", "--nodes", "64", "--node-mtbi-hours", "40", "--hardware-mtbi-hours", "40",
        "--stall", "8", "--runs", "0",
    )  # fmt: skip
    assert plan["job_mtbi_s"] == pytest.approx(1125)
    assert plan["inputs"]["origins"]["R"] == Origin.ASSUMED


def test_article_is_shown_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing else is needed."""
    assert "122,000" in said(capsys, "plan", "--article")
    rows = planned(capsys, "plan", "--article")["rows"]
    assert rows["async"]["told"]["paid_gpu_hours"] == 122_000
    assert round(rows["async"]["exact"]["paid_gpu_hours"]) == 124_466


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["plan"], "needs C"),
        (["plan", "--stall", "8"], "needs M"),
        (["plan", "--stall", "8", "--node-mtbi-hours", "40"], "together with --nodes"),
        ([*SHORT, "--node-mtbi-hours", "40"], "both say M"),
        ([*SHORT, "--spot-price", "1"], "only together"),
        ([*SHORT, "--local-stall", "1"], "only together"),
        ([*SHORT, "--state-bytes", "1", "--parameters", "1"], "both say the size"),
        ([*SHORT, "--storage-bytes-per-s", "1"], "says nothing without"),
        ([*SHORT, "--least-nodes", "2", "--runs", "1"], "can't do with 2"),
        ([*SHORT, "--restart", "12000", "--runs", "1"], "no run is played to its end"),
        (
            [*SHORT, "--productive-gpu-hours", "1e12", "--runs", "1"],
            "of --productive-gpu-hours, whose shares",
        ),
        ([*SHORT, "--capacity-wait", "60", "--runs", "10000001"], "say no more than 1000000"),
        ([*SHORT, "--weibull-shape", "1e-3", "--runs", "1"], "from 0.1 to 100"),
        ([*SHORT, "--trace", "/nowhere.csv"], "cannot be read"),
        ([*SHORT, "--plot", "plan.svg"], ".png or .html"),
        ([*SHORT, "--stall", "-1"], "argument --stall: '-1' is not a number from 1e-09"),
        ([*SHORT, "--restart", "nan"], "'nan' is not 0 or a number"),
        ([*SHORT, "--overhead", "100"], "'100' is not a percentage"),
        ([*SHORT, "--nodes", "0"], "'0' is not a whole number from 1"),
        ([*SHORT, "--seed", "-1"], "'-1' is not a whole number from 0"),
    ],
)
def test_command_line_is_refused_when_it_makes_no_sense(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what would."""
    assert why in refused(capsys, *arguments)


def test_file_is_refused_when_it_is_no_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not the command line that is wrong."""
    (tmp_path / "not.csv").write_text("hello")
    assert cli.run([*SHORT, "--trace", str(tmp_path / "not.csv")]) == 1
    assert "is no trace" in capsys.readouterr().err


def test_help_teaches_the_four_times_when_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To somebody who has never heard of them."""
    assert cli.run(["plan", "--help"]) == 0
    text = capsys.readouterr().out
    for taught in (
        "C  --stall       How long training stands still for a save.",
        "D  --commit-lag  From the end of the stall until the save is committed",
        "R  --restart     Paid time from an interruption to the first new step",
        "M  --job-mtbi    Mean running time between interruptions of the job",
        "examples:",
    ):
        assert taught in text


def test_bars_are_escaped_when_the_encoding_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container without a locale: the plan is there, and no traceback."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert cli.run(SHORT) == 0
    assert b" %  \\u2588\\u2588" in written.getvalue()


@pytest.mark.ranks
@pytest.mark.parametrize("command", ["plan", "report"])
def test_end_is_one_line_when_the_disk_is_full(command: str, tmp_path: Path) -> None:
    """As of every other command."""
    example(tmp_path)
    arguments = SHORT if command == "plan" else ["report", str(tmp_path)]
    program = f"from trainer_hooks.cli import main; main({arguments})"
    with Path("/dev/full").open("w", encoding="ascii") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 78
    assert done.stderr == (
        "reprieve-trainer: standard output cannot be written: No space left on device\n"
    )


@pytest.mark.ranks
def test_plan_needs_no_torch_when_it_is_made() -> None:
    """Nor numpy, unless runs are played."""
    program = (
        "import sys; from trainer_hooks.cli import run; "
        f"run({SHORT}); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert loaded & {"torch", "numpy", "matplotlib"} == set()
    assert "Save every" in done.stdout


@pytest.mark.parametrize("flag", ["--trace", "--pilot"])
@pytest.mark.parametrize("name", ["e\x1b[31m\n.csv", "x" * 5000])
def test_error_is_one_line_when_the_path_is_hostile(
    flag: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error; standard output is empty."""
    plan = ["plan", "--job-mtbi", "2250", "--stall", "8", "--runs", "0", "--json"]
    assert cli.run([*plan, flag, str(tmp_path / name)]) == 78
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("reprieve-trainer: the ")
    assert "\x1b" not in err
    assert len(err) < 700
