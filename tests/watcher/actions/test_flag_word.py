"""The word: what is to be said by the state alone, and who is told that it has changed."""

import asyncio
import json

import pytest

from tests.support.clocks import TurnedClock
from tests.support.flag_desk import WRITER, advice, preemption
from watcher.actions import flag_word
from watcher.actions.flag_word import FlagWord
from watcher.notice import Notice
from watcher.policy import stand
from watcher.state import State


class Speaker:
    """A word with the state that it follows."""

    def __init__(self, clock: TurnedClock) -> None:
        self.clock = clock
        self.state = State()
        self.word = FlagWord(WRITER, self.state, clock)

    def admit(self, notice: Notice) -> None:
        """Put a notice in force, and say so."""
        self.state.admit(stand(notice), self.clock())
        self.word.renew()

    def retire(self, notice: Notice) -> None:
        """Take it out of force, and say so."""
        self.state.retire(notice, self.clock())
        self.word.renew()

    def said(self) -> tuple[int, str | None]:
        """Return the seq, and the id that is told of."""
        answer = json.loads(self.word.answer())
        notice = answer["notice"]
        assert answer["boot_id"] == WRITER.boot_id
        assert notice is None or notice["seq"] == answer["seq"]
        return answer["seq"], notice and notice["id"]


@pytest.fixture
def speaker(clock: TurnedClock) -> Speaker:
    """Nothing is in force yet."""
    return Speaker(clock)


async def test_word_has_a_seq_of_its_own_when_something_comes_and_when_it_goes(
    speaker: Speaker,
) -> None:
    """That nothing is in force is a word like any other; a later run of the daemon counts on."""
    said = [speaker.said()]
    spot = preemption(speaker.clock())
    speaker.admit(spot)
    said.append(speaker.said())
    speaker.retire(spot)
    said.append(speaker.said())
    speaker.clock.turn(0.5)
    said.append(Speaker(speaker.clock).said())
    assert said == [(5_000_000, None), (5_000_001, "spot"), (5_000_002, None), (5_000_500, None)]


async def test_word_is_the_states_when_nobody_has_renewed_it(speaker: Speaker) -> None:
    """Whoever asks in the moment between the state and the actions is not told what was."""
    speaker.state.admit(stand(advice(speaker.clock())), speaker.clock())
    assert speaker.said() == (5_000_001, "advice")
    assert speaker.said() == (5_000_001, "advice"), "it is said anew once"


async def test_waiting_ends_when_the_word_changes_and_not_before(speaker: Speaker) -> None:
    """All who wait are told; who knows another word than the present one does not wait at all."""
    seq = speaker.word.current().seq
    waiting = [asyncio.create_task(speaker.word.next_after(seq)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting)
    speaker.admit(preemption(speaker.clock()))
    async with asyncio.timeout(20):
        await asyncio.gather(*waiting)
        await speaker.word.next_after(seq)


async def test_those_who_wait_come_second_when_the_flag_is_to_be_written(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the loop's next rounds the flag and the signal have it for themselves."""
    monkeypatch.setattr(flag_word, "HEAD_START_S", 600.0)
    waiting = asyncio.create_task(speaker.word.next_after(speaker.word.current().seq))
    await asyncio.sleep(0)
    speaker.admit(preemption(speaker.clock()))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
