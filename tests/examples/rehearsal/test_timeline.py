"""The demo's timeline: seconds since the notice, what is to spare, and what is unknown."""

from rehearsal.timeline import Timeline


def known_timeline() -> Timeline:
    """Return a timeline in which nothing is missing; the last commit is before the notice."""
    return Timeline(
        issued=1000.0,
        heard=1000.5,
        flag_written=1000.6,
        noticed=1000.7,
        agreed=1000.8,
        committed=998.0,
        saved=1000.9,
        exited=1002.25,
        restarted=1003.0,
        resumed=1009.0,
        caught_up=1010.0,
        finished=1020.0,
        stop_step=47,
        committed_step=45,
        resumed_step=45,
        steps_redone=2,
        exit_code=75,
    )


def test_timeline_counts_from_the_notice_when_everything_is_known() -> None:
    """The notice is second 0, and what was before it is negative."""
    timeline = known_timeline()
    assert timeline.since_notice(timeline.issued) == 0.0
    assert timeline.since_notice(timeline.exited) == 2.25
    assert timeline.since_notice(timeline.committed) == -2.0


def test_timeline_spares_the_rest_of_each_window_when_the_launcher_has_ended() -> None:
    """Seconds to spare run from the launcher's end to the end of the window, below 0 if late."""
    timeline = known_timeline()
    assert timeline.to_spare_s() == {120: 117.75, 30: 27.75, 15: 12.75}
    timeline.exited = 1020.0
    assert timeline.to_spare_s() == {120: 100.0, 30: 10.0, 15: -5.0}


def test_timeline_is_told_in_the_order_of_events_when_a_commit_came_before_the_notice() -> None:
    """Rows are sorted by their instants, whatever the usual order is."""
    rows = known_timeline().rows()
    assert [since_s for since_s, _, _ in rows] == sorted(since_s or 0.0 for since_s, _, _ in rows)
    assert rows[0][2] == "have committed step 45, the last save"
    assert rows[1][:2] == (0.0, "cloud")


def test_timeline_keeps_an_unknown_row_in_its_place_when_an_instant_could_not_be_learnt() -> None:
    """Nothing is invented: the row says None, between those that it would be expected between."""
    timeline = known_timeline()
    timeline.noticed = None
    rows = timeline.rows()
    place = next(i for i, (_, _, what) in enumerate(rows) if what == "know of it")
    assert rows[place][0] is None
    assert rows[place - 1][2] == "writes the flag file"
    assert rows[place + 1][2] == "have agreed to stop at step 47"


def test_timeline_knows_no_seconds_when_the_notice_was_never_issued() -> None:
    """Without a second 0 there are none at all, and nothing to spare."""
    timeline = Timeline(exited=1002.0)
    assert all(since_s is None for since_s, _, _ in timeline.rows())
    assert timeline.to_spare_s() == {120: None, 30: None, 15: None}
    assert "exits with code unknown" in {what for _, _, what in timeline.rows()}


def test_json_has_every_instant_when_some_are_unknown() -> None:
    """Programs find null, not a missing key; thousandths of a second are enough."""
    timeline = known_timeline()
    timeline.agreed, timeline.heard = None, 1000.12345
    since_s = timeline.to_json()["since_notice_s"]
    assert since_s == {
        "issued": 0.0,
        "heard": 0.123,
        "flag_written": 0.6,
        "noticed": 0.7,
        "agreed": None,
        "committed": -2.0,
        "saved": 0.9,
        "exited": 2.25,
        "restarted": 3.0,
        "resumed": 9.0,
        "caught_up": 10.0,
        "finished": 20.0,
    }
