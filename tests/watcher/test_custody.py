"""What becomes of messages in our hands, on a queue whose every call the test sees."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from tests.support.clocks import eventually
from watcher.aws.sqs import SqsQueue
from watcher.custody import Custody, Message
from watcher.errors import AwsCallFailed
from watcher.metrics import Metrics


class SeenQueue(SqsQueue):
    """A queue that notes what it is asked for, and fails as told."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9/123456789012/seen")
        self.deleted: list[list[str]] = []
        self.hidden: list[list[str]] = []
        self.lost: list[str] = []
        self.fails = False

    async def delete(self, handles: Sequence[str]) -> dict[str, str]:
        """Note it."""
        return self._noted(self.deleted, handles)

    async def hide(self, handles: Sequence[str], *, visibility_s: int) -> dict[str, str]:
        """Note it."""
        del visibility_s
        return self._noted(self.hidden, handles)

    def _noted(self, calls: list[list[str]], handles: Sequence[str]) -> dict[str, str]:
        calls.append(list(handles))
        if self.fails:
            raise AwsCallFailed("away", outcome="connection")
        return {handle: "Lost" for handle in handles if handle in self.lost}


@pytest.fixture
def queue() -> SeenQueue:
    """A queue of the test's own."""
    return SeenQueue()


@pytest.fixture
async def custody(queue: SeenQueue, metrics: Metrics) -> AsyncIterator[Custody]:
    """A custody at work, which hides its messages again at every turn of the loop."""
    made = Custody(queue, visibility_s=0, held=metrics.messages_held)
    task = asyncio.create_task(made.keep())
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def message(name: str, handle: str = "") -> Message:
    """Build a message."""
    return Message(id=name, handle=handle or f"{name}-1", body="", receipts=1)


async def test_messages_are_deleted_in_few_calls_when_many_are_finished(
    queue: SeenQueue, custody: Custody
) -> None:
    """Ten go into a call, and nothing is held any more."""
    for number in range(25):
        custody.take(message(f"m{number}"))
        custody.finish(f"m{number}")
    await custody.emptied()
    assert [len(call) for call in queue.deleted] == [10, 10, 5]


async def test_message_is_kept_hidden_when_work_on_it_goes_on(
    queue: SeenQueue, custody: Custody
) -> None:
    """By the newest receipt, because an older one hides nothing."""
    custody.take(message("m", "m-1"))
    await eventually(lambda: ["m-1"] in queue.hidden)
    custody.take(message("m", "m-2"))
    await eventually(lambda: queue.hidden[-1] == ["m-2"])
    custody.finish("m")
    await custody.emptied()
    assert queue.deleted == [["m-2"]]


async def test_message_is_left_alone_when_it_is_let_go(queue: SeenQueue, custody: Custody) -> None:
    """Neither hidden nor deleted, whoever says that it is finished."""
    custody.take(message("m"))
    custody.let_go("m")
    custody.finish("m")
    await custody.emptied()
    calls = len(queue.hidden)
    custody.take(message("other"))
    await eventually(lambda: len(queue.hidden) > calls)
    assert not any("m-1" in call for call in [*queue.hidden[calls:], *queue.deleted])


async def test_message_is_let_go_when_the_queue_has_lost_it(
    queue: SeenQueue, custody: Custody
) -> None:
    """One that was deleted or given out anew is not hidden again and again."""
    queue.lost = ["gone-1"]
    custody.take(message("gone"))
    custody.take(message("there"))
    await eventually(lambda: not custody.holds("gone"))
    assert custody.holds("there")


async def test_messages_stay_held_when_the_queue_is_away(
    queue: SeenQueue, custody: Custody
) -> None:
    """A call that failed says nothing about them; it is repeated."""
    queue.fails = True
    custody.take(message("m"))
    await eventually(lambda: len(queue.hidden) > 2)
    assert custody.holds("m")


async def test_messages_come_back_by_themselves_when_they_could_not_be_deleted(
    queue: SeenQueue, custody: Custody, caplog: pytest.LogCaptureFixture
) -> None:
    """A delete is not repeated: the message returns, is known, and is deleted then."""
    queue.fails = True
    custody.take(message("m"))
    custody.finish("m")
    await custody.emptied()
    assert "messages not deleted, they come back" in caplog.text
    queue.fails = False
    custody.take(message("m", "m-2"))
    custody.finish("m")
    await custody.emptied()
    assert queue.deleted == [["m-1"], ["m-2"]]


async def test_number_of_held_messages_is_shown_when_it_changes(
    custody: Custody, metrics: Metrics
) -> None:
    """People see when a relay falls behind."""
    custody.take(message("one"))
    custody.take(message("two"))
    assert metrics.registry.get_sample_value("reprieve_messages_held") == 2
    custody.finish("one")
    assert metrics.registry.get_sample_value("reprieve_messages_held") == 1
