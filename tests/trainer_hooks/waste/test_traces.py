"""Reading traces: five ways of writing, and what is none."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import published_trace
from trainer_hooks.errors import ConfigError, UntrustedFileError
from trainer_hooks.waste import traces
from trainer_hooks.waste.traces import Loss, TimeUnit, Trace, read_trace

NODES = "60000,add,a\n60000,add,b\n120000,remove,a\n120000,remove,b\n180000,add,a\n"
PAIRS = "0,0\n10,0\n10,2\n25,2\n25,0\n40,0\n40,1\n"
MILLISECONDS = "0,1\n0,2\n60000,1\n120000,2\n"
HOURS = "0.000,0\n0.030,0\n0.030,9\n0.059,9\n0.059,2\n"
POLLED = """\
2021-12-10, 23:59:00, 80
2021-12-11, 00:00:00, 80
2021-12-10, 23:59:30, 10
2021-12-11, 00:01:00, 70
"""


def read(tmp_path: Path, text: str, unit: TimeUnit | None = None) -> Trace:
    """Read a trace from a file."""
    (tmp_path / "trace.csv").write_text(text)
    return read_trace(tmp_path / "trace.csv", unit)


@pytest.mark.parametrize(
    ("text", "unit", "rows"),
    [
        (NODES, TimeUnit.MILLISECONDS, [(0, 0), (60, 2), (120, 0), (180, 1)]),
        (PAIRS, TimeUnit.SECONDS, [(0, 0), (10, 2), (25, 0), (40, 1)]),
        (MILLISECONDS, TimeUnit.MILLISECONDS, [(0, 2), (60, 1), (120, 2)]),
        (HOURS, TimeUnit.HOURS, [(0, 0), (108, 9), (212.4, 2)]),
        (POLLED, TimeUnit.CLOCK, [(0, 80), (60, 80), (120, 70)]),
        (PAIRS.replace("\n", "\r\n") + "\n", TimeUnit.SECONDS, [(0, 0), (10, 2), (25, 0), (40, 1)]),
    ],
)
def test_trace_is_read_when_it_is_written_in_one_of_five_ways(
    tmp_path: Path, text: str, unit: TimeUnit, rows: list[tuple[float, int]]
) -> None:
    """In seconds from its begin, one row an instant."""
    trace = read(tmp_path, text)
    assert trace.unit is unit
    assert [count for _, count in trace.rows] == [count for _, count in rows]
    assert [at for at, _ in trace.rows] == pytest.approx([at for at, _ in rows])


def test_unit_is_the_given_one_when_the_guess_would_be_wrong(tmp_path: Path) -> None:
    """Seconds that happen to be whole thousands."""
    assert read(tmp_path, "0,2\n3000,1\n").span_s == 3
    assert read(tmp_path, "0,2\n3000,1\n", TimeUnit.SECONDS).span_s == 3000


def test_losses_are_one_interruption_when_they_happen_together(tmp_path: Path) -> None:
    """And none when the node is replaced within the instant."""
    assert read(tmp_path, NODES).losses == (Loss(at_s=120, nodes=2),)
    assert read(tmp_path, "0,add,a\n60,remove,a\n60,add,b\n90,add,c\n").losses == ()


def test_shares_are_of_the_time_when_counts_last_differently(tmp_path: Path) -> None:
    """Two nodes for 15 s of 40."""
    trace = read(tmp_path, PAIRS)
    assert trace.peak_nodes == 2
    assert trace.share_with(2) == pytest.approx(15 / 40)
    assert trace.share_with(0) == 1
    assert trace.node_hours == pytest.approx(30 / 3600)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("0,8\n", "over at its first instant"),
        ("10,1\n5,2\n", "go back"),
        ("-5,1\n5,2\n", "go back"),
        ("nan,1\n5,2\n", "go back"),
        ("0,1\ninf,2\n", "go back"),
        ("0,1\n5,-1\n", "-1 is no number"),
        ("0,1\n5,99999999999\n", "is no number of nodes"),
        ("0,1\n5,many\n", "for a number of nodes"),
        ("0,1\nsoon,2\n", "line 2 begins with 'soon'"),
        ("0,1\n5\n", "line 2 has 1 fields"),
        ("0,add,a\n5,add,a\n", "line 2 would add 'a'"),
        ("0,add,a\n5,remove,b\n", "line 2 would remove 'b'"),
        ("0,add,a\n5,drop,a\n", "line 2 neither adds nor removes"),
        ("2021-12-10, 25:00:00, 1\n", "hour"),
        ("0;1\n", "line 1 begins with '0;1'"),
        ("ä,1\n", "ascii"),
    ],
)
def test_file_is_refused_when_it_is_no_trace(tmp_path: Path, text: str, why: str) -> None:
    """With the line, where it is one."""
    with pytest.raises(UntrustedFileError, match=why):
        read(tmp_path, text)


def test_file_is_refused_when_it_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is parsed."""
    monkeypatch.setattr(traces, "MAX_BYTES", 10)
    with pytest.raises(UntrustedFileError, match="larger than 10"):
        read(tmp_path, NODES)


def test_error_names_the_file_when_it_cannot_be_read(tmp_path: Path) -> None:
    """As a mistake of the command line."""
    with pytest.raises(ConfigError, match=r"none\.csv cannot be read: No such file"):
        read_trace(tmp_path / "none.csv")


@given(data=st.binary(max_size=200) | st.text("0123456789,.-:\n add", max_size=200).map(str.encode))
def test_any_file_is_read_or_refused_when_it_is_garbage(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing else comes out, and what is read makes sense."""
    path = tmp_path_factory.mktemp("any") / "trace"
    path.write_bytes(data)
    try:
        trace = read_trace(path)
    except UntrustedFileError:
        return
    assert trace.span_s > 0
    assert [at for at, _ in trace.rows] == sorted({at for at, _ in trace.rows})


@pytest.mark.parametrize(
    ("name", "node_losses", "events", "mtbi_s", "largest"),
    [
        ("bamboo/g4dn-trace.csv", 74, 48, 808, 5),
        ("bamboo/p3-trace.csv", 167, 79, 518, 6),
        ("parcae/p3trace.csv", 167, 79, 518, 6),
        ("bamboo/a100x1-east1b.txt", 154, 36, 2700, 36),
        ("bamboo/v100x1-east1c.txt", 518, 55, 1580, 40),
    ],
)
def test_published_trace_says_what_was_counted_when_it_is_read(
    name: str, node_losses: int, events: int, mtbi_s: float, largest: int
) -> None:
    """Losses, distinct interruptions, M, the largest burst: theory part 4 (2026-11-30)."""
    trace = read_trace(published_trace(name))
    assert sum(loss.nodes for loss in trace.losses) == node_losses
    assert len(trace.losses) == events
    assert trace.span_s / events == pytest.approx(mtbi_s, rel=0.003)
    assert max(loss.nodes for loss in trace.losses) == largest


@pytest.mark.parametrize(
    ("name", "nodes", "shares"),
    [
        ("bamboo/g4dn-trace.csv", 24, (0.014, 0.022, 0.624)),
        ("bamboo/p3-trace.csv", 32, (0.211, 0.400, 0.834)),
        ("bamboo/a100x1-east1b.txt", 64, (0.092, 0.865, 0.994)),
        ("bamboo/v100x1-east1c.txt", 80, (0.715, 0.890, 0.996)),
    ],
)
def test_published_trace_has_the_counted_capacity_when_it_is_read(
    name: str, nodes: int, shares: tuple[float, float, float]
) -> None:
    """Of the time: all nodes, 87.5 % of them, half of them."""
    trace = read_trace(published_trace(name))
    assert trace.peak_nodes == nodes
    found = [trace.share_with(least) for least in (nodes, -(-nodes * 7 // 8), nodes // 2)]
    assert found == pytest.approx(shares, abs=0.0006)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("time,count\n0,5\n", "line 1 begins with 'time', which is no time"),
        ("0,5\n10,2.5\n", r"line 2 has '2\.5' for a number of nodes"),
        ("0,5\n10," + "9" * 5000 + "\n", "line 2 has '9{20}' for a number of nodes"),
        ("1,add,a\nsoon,add,b\n", "line 2 begins with 'soon'"),
        ("2020-01-01, 00:00:00, 5\n2020-13-01, 00:00:00, 5\n", "line 2 has no date and time"),
        ("0,5\n1e300,3\n2e300,5\n", "its times go back, or are none"),
        ("\0" * 1000, "line 1 begins with"),
    ],
)
def test_line_is_named_with_the_rows_there_are_when_it_is_none(
    tmp_path: Path, text: str, where: str
) -> None:
    """What, where, and what would do; short enough to be read."""
    with pytest.raises(UntrustedFileError, match=where) as refused:
        read(tmp_path, text)
    assert str(refused.value).endswith("or YYYY-MM-DD, HH:MM:SS, count")
    assert len(str(refused.value)) < 500


def test_mark_of_a_spreadsheet_is_passed_over_when_it_is_there(tmp_path: Path) -> None:
    """It is no part of the first number."""
    (tmp_path / "trace.csv").write_bytes(b"\xef\xbb\xbf" + PAIRS.encode())
    assert read_trace(tmp_path / "trace.csv").rows == read(tmp_path, PAIRS).rows


def test_name_is_harmless_when_a_path_is_not(tmp_path: Path) -> None:
    """It is shown in the plan."""
    hostile = tmp_path / "e\x1b[31m.csv"
    hostile.write_text(PAIRS)
    assert read_trace(hostile).name == r"e\x1b[31m.csv"
