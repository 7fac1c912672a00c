"""``reprieve-trainer plan --trace``, as users call it."""

from pathlib import Path

import pytest

from tests.support.planned import planned, said
from tests.support.traces import published_trace
from trainer_hooks.waste.inputs import Origin

SHORT = ["plan", "--job-mtbi", "2250", "--stall", "8", "--runs", "0"]


def test_trace_is_replayed_when_it_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """M and the size of the job are its own then, and are marked so."""
    rows = [(0, 4), (1000, 2), (1300, 4), (5000, 3), (5600, 4), (9000, 1), (9500, 4), (12001, 4)]
    path = tmp_path / "pool.csv"
    path.write_text("".join(f"{at},{nodes}\n" for at, nodes in rows))
    arguments = ["plan", "--trace", str(path), "--stall", "2", "--restart", "60", "--runs", "0"]
    plan = planned(capsys, *arguments)
    assert plan["job_mtbi_s"] == pytest.approx(12_001 / 3)
    assert plan["inputs"]["origins"]["M"] == Origin.TRACE
    trace = plan["trace"]
    assert (trace["interruptions"], trace["node_losses"], trace["largest_loss"]) == (3, 6, 3)
    assert trace["time_unit"] == "s"
    assert trace["capacity"]["share_of_time"] == pytest.approx(1 - 1400 / 12_001)
    assert sum(trace["losses"]["split"].values()) == pytest.approx(1, abs=1e-9)
    text = said(capsys, *arguments, "--trace-unit", "ms")
    assert "its times read as ms" in text
    assert "3 interruptions took 6 nodes, 3 at once at most" in text
    assert "interruptions come at random: CV of gaps" not in text, "three within 12 s say nothing"
    assert "interruptions come at random: CV of gaps" in said(capsys, *arguments)
    assert set(trace["dispersion"]) == {"gaps_cv", "fano", "is_over_dispersed"}
    assert "bursts cost less than that" in text
    assert "both nodes of a pair" in text


def test_nothing_is_said_of_bursts_when_a_trace_has_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Where each interruption takes one node, counting nodes is counting interruptions."""
    path = tmp_path / "pool.csv"
    path.write_text("0,4\n1000,3\n1300,4\n5000,3\n5600,4\n12001,4\n")
    text = said(capsys, "plan", "--trace", str(path), "--stall", "2", "--runs", "0")
    assert "2 interruptions took 2 nodes, 1 at once at most" in text
    assert "burst" not in text


@pytest.mark.parametrize(
    ("name", "independent"),
    [
        ("bamboo/g4dn-trace.csv", 0.268),
        ("bamboo/p3-trace.csv", 0.334),
        ("bamboo/a100x1-east1b.txt", 0.528),
        ("bamboo/v100x1-east1c.txt", 0.783),
    ],
)
def test_counting_lost_nodes_is_shown_to_be_wrong_when_a_published_trace_is_replayed(
    name: str, independent: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the example's M: theory part 4's last column (2026-11-30)."""
    path = published_trace(name)
    plan = planned(capsys, *SHORT, "--restart", "300", "--trace", str(path))
    found = plan["trace"]["independent_nodes_wasted_fraction"]
    assert found == pytest.approx(independent, abs=0.001)


@pytest.mark.parametrize(
    ("name", "said_of_it"),
    [
        ("bamboo/g4dn-trace.csv", "come at random: CV of gaps 0.892"),
        ("bamboo/a100x1-east1b.txt", "cluster: CV of gaps 1.64"),
        ("bamboo/v100x1-east1c.txt", "cluster: CV of gaps 1.37"),
    ],
)
def test_trace_says_whether_its_interruptions_cluster_when_it_is_replayed(
    name: str, said_of_it: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The spread of the gaps is theory part 4's (2026-11-30), which has 0.92 for the first."""
    text = said(capsys, *SHORT, "--trace", str(published_trace(name)))
    assert f"  interruptions {said_of_it}" in text
