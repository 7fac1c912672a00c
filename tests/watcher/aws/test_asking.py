"""Questions to EC2: what one that fails means for the next."""

import asyncio
import threading
from collections.abc import Iterator
from functools import partial

import pytest
from lab.moto import REGION

from tests.support.clocks import eventually
from watcher.aws.asking import QUIET_S, Asking
from watcher.aws.ec2 import Ec2
from watcher.errors import AwsCallFailed


class Clock:
    """Seconds, turned by the test."""

    def __init__(self) -> None:
        self.at_s = 100.0

    def __call__(self) -> float:
        return self.at_s


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still unless it is turned."""
    return Clock()


@pytest.fixture
async def questions(clock: Clock) -> Asking[str]:
    """Somebody's questions."""
    return Asking(Ec2(REGION), clock)


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """What a question can wait for; it comes at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def refused() -> str:
    """Fail as EC2 does that does not know us."""
    raise AwsCallFailed("EC2: no", outcome="forbidden", code="UnauthorizedOperation")


async def test_next_question_is_not_asked_when_one_has_just_failed(
    questions: Asking[str], clock: Clock
) -> None:
    """It fails with the same outcome, and says why; some seconds later it is asked."""
    with pytest.raises(AwsCallFailed, match=r"^EC2: no$"):
        await questions.ask(refused)
    clock.at_s += QUIET_S - 1
    with pytest.raises(AwsCallFailed, match=r"not asked so soon after: EC2: no$") as error:
        await questions.ask(lambda: "answer")
    assert (error.value.outcome, error.value.code) == ("forbidden", "UnauthorizedOperation")
    clock.at_s += 1
    assert await questions.ask(lambda: "answer") == "answer"


async def test_questions_that_wait_are_not_asked_when_the_one_before_them_fails(
    questions: Asking[str], hang: threading.Event
) -> None:
    """A burst finds out once that EC2 is away."""
    asked: list[int] = []

    def ask(number: int) -> str:
        asked.append(number)
        hang.wait()
        return refused()

    tasks = [asyncio.create_task(questions.ask(partial(ask, number))) for number in range(5)]
    await eventually(lambda: asked)
    hang.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, AwsCallFailed) for outcome in outcomes)
    assert asked == [0]
