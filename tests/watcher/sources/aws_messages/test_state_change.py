"""Only a whole word that means an end is an end."""

import pytest

from tests.support.aws_bodies import ABSENT, changed, left_s, only, read
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind
from watcher.sources.reading import ForInstance, Grounds, Ignored, Notices

STATE = "state-change-terminated"


@pytest.mark.parametrize("word", ["Stopping", "STOPPED", " shutting-down\n", "Terminated"])
def test_state_change_is_an_end_when_its_word_is_dressed_differently(word: str) -> None:
    """Case and white space don't keep an instance alive."""
    notice = only(changed(STATE, "detail/state", word))
    assert notice.kind is NoticeKind.TERMINATION
    assert left_s(notice) == -2


@pytest.mark.parametrize(
    "word", ["", "stop", ",", "terminate", "stopping,stopped", "shutting down", "rebooting"]
)
def test_state_change_is_no_end_when_only_part_of_a_word_is(word: str) -> None:
    """A substring of the list of states is not one of them."""
    reading = read(changed(STATE, "detail/state", word))
    assert isinstance(reading, Ignored)
    assert reading.grounds is Grounds.NOT_ENDING


@pytest.mark.parametrize("word", [ABSENT, None, 48, ["terminated"], {"name": "terminated"}, True])
def test_state_change_is_refused_when_its_state_is_no_word(word: object) -> None:
    """Nobody knows what it says, so neither yes nor no is right."""
    with pytest.raises(SourceMalformed, match="state"):
        read(changed(STATE, "detail/state", word))


@pytest.mark.parametrize("word", ["stopping", "stopped", "shutting-down", "terminated"])
def test_instance_is_off_for_good_only_when_it_is_terminated(word: str) -> None:
    """One that is stopped may be started again, and one that shuts down still writes."""
    reading = read(changed(STATE, "detail/state", word))
    assert isinstance(reading, Notices)
    [told] = reading.addressed
    assert isinstance(told, ForInstance)
    assert told.is_terminated is (word == "terminated")
