"""One line: what is said on it, and how its end is told from the loss of a machine."""

import socket
from collections.abc import Iterator

import pytest

from tests.support.deaf import deafen
from tests.support.waiting import wait_until
from trainer_hooks.lifeline.line import EndedError, Line, UnansweredError, Word

Pair = tuple[Line, Line]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both ends of a line on which a second of silence is a loss."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    lines = Line(near, 1), Line(far, 1)
    yield lines
    for line in lines:
        line.close()


def heard(line: Line) -> list[tuple[Word, int]]:
    """Return what has been said, all of it."""
    return list(line.words())


def wait_for_words(line: Line, count: int) -> list[tuple[Word, int]]:
    """Return as many words as are to come."""
    words: list[tuple[Word, int]] = []

    def have_come() -> bool:
        words.extend(line.words())
        return len(words) >= count

    wait_until(have_come)
    return words


def how_it_ends(line: Line) -> type[Exception]:
    """Wait until a line ends; return how."""
    ends: list[type[Exception]] = []

    def has_ended() -> bool:
        try:
            heard(line)
        except (EndedError, UnansweredError) as error:
            ends.append(type(error))
        return bool(ends)

    wait_until(has_ended, limit_s=30)
    return ends[0]


def test_words_come_in_order_when_they_are_said(pair: Pair) -> None:
    """And nothing more, until more is said."""
    near, far = pair
    assert heard(far) == []
    near.say(Word.LOST, 70_000)
    near.say(Word.BYE, 3)
    assert wait_for_words(far, 2) == [(Word.LOST, 70_000), (Word.BYE, 3)]


def test_word_is_whole_when_it_comes_in_pieces(pair: Pair) -> None:
    """TCP knows no words."""
    near, far = pair
    near.connection.send(b"L\0\0")
    wait_until(lambda: heard(far) == [] and far._received)
    near.connection.send(b"\0\x07")
    assert wait_for_words(far, 1) == [(Word.LOST, 7)]


def test_line_has_ended_when_the_other_end_hangs_up(pair: Pair) -> None:
    """Its kernel says so: the machine is there."""
    near, far = pair
    near.close()
    assert how_it_ends(far) is EndedError
    far.say(Word.BYE, 1)


def test_line_has_ended_when_something_else_is_said(pair: Pair) -> None:
    """It is no rank of ours."""
    near, far = pair
    near.connection.send(b"GET / HTTP/1.1\r\n\r\n")
    assert how_it_ends(far) is EndedError


def test_machine_is_lost_when_what_was_said_is_not_acknowledged(pair: Pair) -> None:
    """Nobody closes anything; hub and ranks have the case in which nothing was said."""
    near, far = pair
    deafen(near.connection)
    far.say(Word.BYE, 1)
    assert how_it_ends(far) is UnansweredError
