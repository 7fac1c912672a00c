"""The times of a question that is asked rarely."""

from watcher.sources.rarely import FIRST_PAUSE_S, Rarely


def made(jitter: float = 1.0) -> Rarely:
    """Build one with a jitter that is known."""
    return Rarely(300.0, ("forbidden",), lambda: jitter)


def test_question_is_due_at_once_when_it_was_never_asked() -> None:
    """And a whole interval after the beginning of one that was answered."""
    rarely = made()
    assert rarely.due_at == 0
    rarely.answered(1000.0)
    assert rarely.due_at == 1300


def test_pause_doubles_when_failures_go_on() -> None:
    """Up to the interval; an answer ends that."""
    rarely = made()
    pauses = []
    for _ in range(8):
        rarely.failed(1000.0, "timeout")
        pauses.append(rarely.due_at - 1000)
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300]
    rarely.answered(1000.0)
    rarely.failed(1000.0, "timeout")
    assert rarely.due_at == 1000 + FIRST_PAUSE_S


def test_pause_is_long_at_once_when_a_person_has_to_do_something() -> None:
    """A fleet must not spend its quota on asking for what it may not have."""
    rarely = made()
    rarely.failed(1000.0, "forbidden")
    assert rarely.due_at == 1300


def test_pause_is_between_half_and_whole_when_it_is_jittered() -> None:
    """Never shorter: a cloud that is down is not asked more often by luck."""
    rarely = made(0.0)
    rarely.failed(1000.0, "forbidden")
    assert rarely.due_at == 1150
