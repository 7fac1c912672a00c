"""What a check has found, as people read it: on a terminal, and in a file."""

from watcher.finding import ok, wrong

LONG = wrong(
    "cloud",
    "none: no cloud has proved itself (azure: HTTP 403; aws: GET /latest/meta-data/instance-id)",
    "name the cloud (REPRIEVE_CLOUD, or cloud in the file), and ask again",
)


def test_finding_is_folded_under_itself_when_a_terminal_is_narrower() -> None:
    """Between words alone, so that what is to be copied stays whole."""
    assert LONG.wrapped(50).splitlines() == [
        "wrong   cloud: none: no cloud has proved itself",
        "        (azure: HTTP 403; aws: GET",
        "        /latest/meta-data/instance-id)",
        "        -> name the cloud (REPRIEVE_CLOUD, or",
        "           cloud in the file), and ask again",
    ]


def test_finding_is_a_line_when_there_is_room_or_nobody_watches() -> None:
    """As programs that read a file line by line expect; there is always room for a word."""
    assert LONG.wrapped(200) == str(LONG)
    assert len(str(LONG).splitlines()) == 2
    fine = ok("clock", "within 5 s of EC2's")
    assert fine.wrapped(80) == str(fine) == "ok      clock: within 5 s of EC2's"
    assert "/latest/meta-data/instance-id" in LONG.wrapped(1)
