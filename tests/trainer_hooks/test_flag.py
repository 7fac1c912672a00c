"""The flag file: read as the watcher writes it, on any clock."""

from pathlib import Path

import pytest

from tests.support.flags import GOLDEN
from tests.support.golden_flag import Clocks, Flag
from trainer_hooks import flag
from trainer_hooks.flag import OVERDUE_S, StopNotice, read_flag, run_directory


def test_flag_is_read_whole_when_it_is_the_golden_file(golden: Flag) -> None:
    """What the watcher's side pins is what this side understands, byte for byte."""
    golden.path.write_bytes(GOLDEN.read_bytes())
    assert read_flag(golden.path) == StopNotice(
        id="aws-spot-terminate-2026-11-30T10:07:06Z-i-0123456789abcdef0",
        is_stop=True,
        deadline_s=pytest.approx(5121.0),  # type: ignore[arg-type]  # compares equal to a float
        source="flag:aws_imds",
    )


def test_flag_is_absent_when_there_is_no_file(tmp_path: Path) -> None:
    """Nor when there is no run directory."""
    assert read_flag(tmp_path / "notice.json") is None
    assert read_flag(tmp_path / "run" / "notice.json") is None


def test_instants_of_the_watcher_decide_nothing_when_they_can_not_be_read(golden: Flag) -> None:
    """They are for the record; two words of one notice are the same notice."""
    found = golden.read()
    assert found is not None
    assert (found.received_at, found.written_at) == (1796033106.25, 1796033106.252)
    other = golden.read(received_at="soon")
    assert other == found
    assert other.received_at is None


def test_flag_is_advice_when_its_urgency_says_so(golden: Flag) -> None:
    """Advisory notices stop nobody."""
    notice = golden.read(urgency="advisory")
    assert notice is not None
    assert not notice.is_stop


def test_flag_is_in_force_when_it_holds_keys_we_do_not_know(golden: Flag) -> None:
    """A later watcher may say more."""
    assert golden.read(relayed_by="relay-1", detail={"new": [1]}) == golden.read()


def test_flag_is_void_when_it_was_written_in_another_boot(golden: Flag) -> None:
    """A node that came back is not going away."""
    assert golden.read(boot_id="00000000-0000-4000-8000-000000000000") is None
    assert golden.read(boot_id="") is None


@pytest.mark.parametrize("boot_id", [None, "missing"])
def test_flag_is_in_force_when_nobody_knows_its_boot(golden: Flag, boot_id: str | None) -> None:
    """Unknown is not clear."""
    if boot_id == "missing":
        del golden.data["boot_id"]
    else:
        golden.data["boot_id"] = boot_id
    assert golden.read() is not None


def test_flag_is_in_force_when_the_system_hides_its_own_boot(golden: Flag, clocks: Clocks) -> None:
    """Likewise."""
    clocks.boot_id = None
    assert golden.read() is not None


def test_deadline_is_unknown_when_the_flag_has_none(golden: Flag) -> None:
    """No deadline is invented here."""
    assert golden.deadline_s(deadline=None) is None


@pytest.mark.parametrize(("drill", "is_drill"), [(True, True), (False, False), ("yes", False)])
def test_notice_is_a_drill_when_the_flag_says_so(
    golden: Flag, drill: object, *, is_drill: bool
) -> None:
    """What is no clear word is no drill, and counts."""
    notice = golden.read(drill=drill)
    assert notice is not None
    assert notice.is_drill is is_drill


@pytest.mark.parametrize(
    ("kind", "window_s"),
    [("preemption", 30.0), ("shutdown", 5.0), ("hardware", 0.0), ("of tomorrow", 30.0), ([], 30.0)],
)
def test_window_is_that_of_its_kind_when_the_flag_has_no_deadline(
    golden: Flag, kind: object, window_s: float
) -> None:
    """A plan needs some time to go by; a kind that we don't know has the usual one."""
    notice = golden.read(kind=kind, deadline=None, deadline_boottime_s=None)
    assert notice is not None
    assert notice.window_s == window_s


def test_deadline_is_the_same_instant_when_it_is_read_later(golden: Flag, clocks: Clocks) -> None:
    """Both clocks run on."""
    clocks.turn(60)
    assert golden.deadline_s() == pytest.approx(5121.0)


@pytest.mark.parametrize("step_s", [60.0, 600.0])
def test_deadline_follows_the_wall_when_it_was_set_forward_after_the_writing(
    golden: Flag, clocks: Clocks, step_s: float
) -> None:
    """The stamps part: the deadline is the cloud's, in wall time, and the clock was just set."""
    clocks.wall += step_s
    assert golden.deadline_s() == pytest.approx(5121.0 - step_s)


@pytest.mark.parametrize("step_s", [-60.0, -600.0, -7200.0])
def test_deadline_stays_where_it_was_when_the_wall_was_set_back_after_the_writing(
    golden: Flag, clocks: Clocks, step_s: float
) -> None:
    """Two minutes do not become two hours: nobody knows that it was the wall which was wrong."""
    clocks.wall += step_s
    assert golden.deadline_s() == pytest.approx(5121.0, abs=0.01)


@pytest.mark.parametrize("offset_s", [60.0, -60.0, 4000.0, -4000.0])
def test_deadline_follows_the_wall_when_we_are_in_a_time_namespace(
    golden: Flag, clocks: Clocks, monkeypatch: pytest.MonkeyPatch, offset_s: float
) -> None:
    """Its zero is not the writer's, whichever of the two would be earlier."""
    monkeypatch.setattr(flag, "is_boottime_shifted", lambda: True)
    clocks.boottime += offset_s
    assert golden.deadline_s() == pytest.approx(5121.0 + offset_s, abs=0.01)


@pytest.mark.parametrize(("is_shifted", "deadline_s"), [(False, 5121.0), (True, 5121.0 - 7200)])
def test_notice_is_not_hidden_when_the_wall_was_set_forward_by_hours(
    golden: Flag,
    clocks: Clocks,
    monkeypatch: pytest.MonkeyPatch,
    is_shifted: bool,  # noqa: FBT001 - a table's column
    deadline_s: float,
) -> None:
    """A node that learns the time only now; unless it is our boottime that is another one."""
    monkeypatch.setattr(flag, "is_boottime_shifted", lambda: is_shifted)
    clocks.wall += 7200
    assert golden.deadline_s() == pytest.approx(deadline_s)


@pytest.mark.parametrize("offset_s", [86_400.0, -4000.0])
def test_deadline_follows_the_wall_when_a_time_namespace_shifts_boottime(
    golden: Flag, clocks: Clocks, offset_s: float
) -> None:
    """The same boot id, another zero: only the duration left carries over."""
    clocks.boottime += offset_s
    assert golden.deadline_s() == pytest.approx(5121.0 + offset_s)


@pytest.mark.parametrize("key", ["deadline_boottime_s", "written_boottime_s"])
@pytest.mark.parametrize(
    "stamp",
    [None, "5121.0", True, [], float("nan"), float("inf"), -float("inf"), 10**400],
    ids=lambda stamp: repr(stamp)[:9],
)
def test_deadline_follows_the_wall_when_a_boottime_stamp_is_none(
    golden: Flag, key: str, stamp: object
) -> None:
    """What no clock can show is no stamp, and no reason to refuse the rest."""
    assert golden.deadline_s(**{key: stamp}) == pytest.approx(5121.0, abs=0.01)


@pytest.mark.parametrize("boottime_s", [5061.0, 5181.0])
def test_deadline_is_the_earlier_when_both_clocks_are_credible(
    golden: Flag, boottime_s: float
) -> None:
    """The stamps agree and the deadlines do not: hurry."""
    earlier = min(boottime_s, 5121.0)
    assert golden.deadline_s(deadline_boottime_s=boottime_s) == pytest.approx(earlier, abs=0.01)


def test_deadline_is_the_later_when_the_earlier_would_hide_the_notice(
    golden: Flag, clocks: Clocks
) -> None:
    """A boottime of 0 must not make a notice of this minute look like one long past."""
    assert golden.deadline_s(deadline_boottime_s=0) == pytest.approx(5121.0, abs=0.01)
    clocks.turn(2 * OVERDUE_S)
    assert golden.deadline_s(deadline_boottime_s=9000) == 9000


@pytest.mark.parametrize(
    ("late_s", "is_overdue"), [(-60, False), (OVERDUE_S - 1, False), (OVERDUE_S + 1, True)]
)
def test_notice_is_overdue_when_the_node_outlives_its_deadline_by_far(
    golden: Flag,
    clocks: Clocks,
    late_s: float,
    is_overdue: bool,  # noqa: FBT001 - a table's column
) -> None:
    """Ten minutes after its end a node that still lives holds nobody back."""
    clocks.turn(118.748 + late_s)
    notice = golden.read()
    assert notice is not None
    assert notice.is_overdue is is_overdue


def test_notice_is_never_overdue_when_its_deadline_is_unknown(golden: Flag, clocks: Clocks) -> None:
    """It stays until it is withdrawn."""
    clocks.boottime += 1e6
    notice = golden.read(deadline=None)
    assert notice is not None
    assert not notice.is_overdue


def test_run_directory_is_the_environments_when_it_names_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And /run/reprieve otherwise."""
    assert run_directory() == Path("/run/reprieve")
    monkeypatch.setenv("REPRIEVE_RUN_DIR", "/somewhere")
    assert run_directory() == Path("/somewhere")
