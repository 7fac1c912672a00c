"""What is remembered for a day, and what is forgotten."""

from tests.support.clocks import TurnedClock
from watcher.sources.remembered import KEPT, KEPT_S, Remembered


def test_word_is_known_for_a_day_when_it_was_added(clock: TurnedClock) -> None:
    """Longer than any queue of ours keeps a message."""
    words = Remembered(clock)
    words.add("spot")
    clock.turn(KEPT_S)
    assert "spot" in words
    clock.turn(1)
    assert "spot" not in words


def test_word_is_known_for_longer_when_it_is_added_again(clock: TurnedClock) -> None:
    """A day counts from the last time."""
    words = Remembered(clock)
    words.add("spot")
    words.add("other")
    clock.turn(KEPT_S)
    words.add("spot")
    clock.turn(1)
    assert "spot" in words
    assert "other" not in words


def test_oldest_words_are_forgotten_when_there_are_too_many(clock: TurnedClock) -> None:
    """Memory is bounded, whatever a queue brings."""
    words = Remembered(clock)
    for number in range(KEPT + 2):
        words.add(str(number))
    assert [str(number) in words for number in (0, 1, 2, KEPT + 1)] == [False, False, True, True]
