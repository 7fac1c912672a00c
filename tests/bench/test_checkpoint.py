"""The bench of the checkpoint: its verdict from given figures, and its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoint import SMALL_MB, SMALL_ROUNDS, result_of, table
from lab.judged import TARGETS, judge
from lab.saving import ALONE, ASYNC, BUCKET, KEPT, OURS, SUBPROCESS, WAYS, Round

BENCH = Path(__file__).parents[2] / "bench" / "checkpoint.py"


def round_of(*, slowed: float = 1.0, **times: float) -> Round:
    """Return a round in which ours is so many times async_save's, on a machine so many times slow.

    ``upload`` and ``fetch`` are by how much longer than obstore alone one takes, and ``load`` than
    async_save's and a digest of all bytes.
    """
    usual = {"stall_s": 0.1, "durable_s": 1.0, "load_s": 0.5, "bytes": 1000.0}
    round_ = {way: dict(usual) for way in WAYS}
    of = dict.fromkeys(TARGETS, 1.0) | times
    round_[ASYNC] |= {"digests_s": 0.25}
    round_[OURS] |= {"stall_s": 0.1 * of["stall"], "durable_s": 1.0 * of["durable"]}
    round_[OURS] |= {"load_s": 0.75 * of["load"], "load_on_trust_s": 0.5 * of["load_on_trust"]}
    round_[BUCKET] |= {"durable_s": 0.1 + 2.0 * of["upload"], "fetch_s": 0.5 * of["fetch"]}
    round_[ALONE] |= {"stall_s": 0.0, "durable_s": 2.0}
    return {
        way: {name: value * (1 if name == "bytes" else slowed) for name, value in figures.items()}
        for way, figures in round_.items()
    }


def test_ratios_are_of_the_same_round_when_the_machine_is_slow_at_times() -> None:
    """What slowed down both cancels, and of an upload the stall is no part."""
    rounds = [round_of(slowed=slowed, stall=0.8, durable=1.1) for slowed in (1.0, 7.0, 2.0)]
    judged = judge(rounds)
    assert (judged.stall.low, judged.stall.high) == pytest.approx((0.8, 0.8))
    assert (judged.durable.low, judged.durable.high) == pytest.approx((1.1, 1.1))
    assert judged.upload.median == judged.load.median == pytest.approx(1.0)
    assert judged.fetch.median == judged.load_on_trust.median == pytest.approx(1.0)
    assert judged.missed == []


@pytest.mark.parametrize(
    ("one", "other", "missed"),
    [
        ({"stall": 1.06}, {"stall": 1.07}, ["stall"]),
        ({"stall": 1.04}, {"stall": 1.2}, []),
        ({"durable": 1.16}, {"durable": 1.2}, ["durable"]),
        ({"durable": 1.1}, {"durable": 1.2}, []),
        ({"upload": 1.12}, {"upload": 1.2}, ["upload"]),
        ({"upload": 1.1}, {"upload": 1.2}, []),
        ({"load": 1.16}, {"load": 1.2}, ["load"]),
        ({"load": 1.1}, {"load": 1.2}, []),
        ({"load_on_trust": 1.16}, {"load_on_trust": 1.2}, ["load_on_trust"]),
        ({"load_on_trust": 1.1}, {"load_on_trust": 1.2}, []),
        ({"fetch": 1.12}, {"fetch": 1.2}, ["fetch"]),
        ({"fetch": 1.1}, {"fetch": 1.2}, []),
    ],
    ids=lambda given: ", ".join(given) if isinstance(given, list) else repr(given),
)
def test_target_is_missed_only_when_all_of_the_interval_is_beyond_it(
    one: dict[str, float], other: dict[str, float], missed: list[str]
) -> None:
    """Eleven rounds, half of them so and half otherwise."""
    rounds = [round_of(**one), round_of(**other)] * 6
    judged = judge(rounds)
    assert judged.missed == missed
    assert result_of(rounds, judged)["missed"] == missed


def test_result_has_every_way_with_its_figures() -> None:
    """And what ours is beside those that it is held against."""
    rounds = [round_of(stall=0.9)] * 3
    result = result_of(rounds, judge(rounds))
    ways = result["ways"]
    assert isinstance(ways, dict)
    assert set(ways) == set(WAYS)
    assert ways[ASYNC]["stall_s"]["median"] == 0.1
    assert ways[OURS]["bytes"] == 1000
    beside = result["ours_times_async_save"]
    assert isinstance(beside, dict)
    assert beside["load_on_trust"]["median"] == 1.0
    assert set(result) >= {f"ours_times_{KEPT}", f"ours_s3_times_{ALONE}"}


def test_table_has_a_line_a_way_and_a_target() -> None:
    """People read that."""
    rounds = [round_of()] * 3
    lines = table("tmpfs, 6 MB a rank", rounds, judge(rounds)).splitlines()[1:]
    named = [line.split()[0].rstrip(",") for line in lines]
    assert named == [*WAYS, "stall", "durable", "upload", "load", "load", "fetch"]


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.timeout(600)
def test_bench_ends_with_its_figures_when_run() -> None:
    """Both places, all ways, everything loaded again; the exit status agrees with the last line."""
    command = [sys.executable, str(BENCH), "--small"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=580)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert (result["bench"], result["rounds"]) == ("checkpoint", SMALL_ROUNDS)
    assert result["missed"] is bool(result["missed_where"])
    assert result["absent"] == {}
    for place in ("tmpfs", "disk"):
        found = result["places"][place]
        assert found["file_system"]
        ways = found[f"{SMALL_MB:g}"]["ways"]
        assert set(ways) == {*WAYS} >= {SUBPROCESS}
        assert all(way["bytes"] >= 2 * SMALL_MB * 1e6 for way in ways.values())
        assert ways[OURS]["load_s"]["median"] > 0
        assert ways[ASYNC]["digests_s"]["median"] > 0
        assert ways[BUCKET]["fetch_s"]["median"] > 0
