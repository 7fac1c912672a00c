"""The vote on a save: all learn the same, at once when one has failed, in time when one is gone."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from torch.distributed import HashStore

from trainer_hooks.checkpoint.vote import Vote
from trainer_hooks.clock import boottime_s

LONG_S, SHORT_S = 30.0, 0.05


def votes(size: int, timeout_s: float = LONG_S, store: HashStore | None = None) -> list[Vote]:
    """Return the votes of all ranks on one save."""
    shared: Any = store or HashStore()  # torch's stubs lack half of a Store
    timeout = timedelta(seconds=timeout_s)
    return [Vote(shared, "step_000000010.a1-aaaa", size, timeout) for _ in range(size)]


def on_threads(calls: list[Callable[[], object]]) -> list[object]:
    """Return what the calls return, made at once."""
    results: list[object] = [None] * len(calls)

    def run(number: int) -> None:
        results[number] = calls[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def finish(vote: Vote, failure: str | None, *, is_coordinator: bool) -> str | None:
    """Do what a finishing thread does; the coordinator commits when nobody failed."""
    vote.cast(failure)
    if is_coordinator:
        failures = vote.failures()
        vote.settle("not all have voted" if failures is None else "; ".join(failures) or None)
    return vote.outcome()


def finish_all(of_ranks: list[Vote], failures: list[str | None]) -> list[object]:
    """Finish on all ranks at once."""
    return on_threads(
        [
            lambda vote=vote, failure=failure, rank=rank: finish(  # type: ignore[misc]  # defaults bind
                vote, failure, is_coordinator=rank == 0
            )
            for rank, (vote, failure) in enumerate(zip(of_ranks, failures, strict=True))
        ]
    )


@pytest.mark.parametrize("size", [1, 2, 5])
def test_save_is_committed_when_every_rank_could(size: int) -> None:
    """And all learn it."""
    assert finish_all(votes(size), [None] * size) == [None] * size


@pytest.mark.parametrize("failing", [0, 1, 4])
def test_failure_reaches_all_when_one_rank_fails(failing: int) -> None:
    """With its reason, on one line."""
    failures: list[str | None] = [None] * 5
    failures[failing] = f"rank {failing}: No space\nleft on device"
    outcomes = finish_all(votes(5), failures)
    assert len(set(outcomes)) == 1
    assert f"rank {failing}: No space" in str(outcomes[0])


def test_failure_reaches_all_when_another_rank_never_votes() -> None:
    """Whoever has died cannot hold up the news."""
    first, second, _ = votes(3)
    outcomes = on_threads(
        [
            lambda: finish(first, None, is_coordinator=True),
            lambda: finish(second, "rank 1: broken", is_coordinator=False),
        ]
    )
    assert outcomes == ["rank 1: broken"] * 2
    assert not first.is_over(within_s=SHORT_S)


def test_failure_is_known_at_once_when_the_coordinator_is_gone() -> None:
    """The first failure decides: whoever hears it waits for nobody."""
    _, second, third = votes(3, SHORT_S)
    second.cast("rank 1: broken")
    assert second.outcome() == third.outcome() == "rank 1: broken"


def test_vote_is_over_when_the_last_rank_has_cast() -> None:
    """From then on nobody writes."""
    first, second = votes(2)
    first.cast("rank 0: broken")
    assert not first.is_over(within_s=SHORT_S)
    second.cast(None)
    assert first.is_over(within_s=LONG_S)
    assert first.failures() == ["rank 0: broken"]


def test_vote_is_undecided_when_a_rank_does_not_vote_in_time() -> None:
    """The coordinator is told so, and names whose manifest is missing."""
    first, _ = votes(2, SHORT_S)
    first.cast(None)
    assert first.failures() is None


def test_outcome_is_a_failure_when_the_coordinator_does_not_answer() -> None:
    """The same one on all that wait in vain, and for a coordinator that comes too late."""
    coordinator, second, third = votes(3, SHORT_S)
    for vote in (coordinator, second, third):
        vote.cast(None)
    outcomes = on_threads([second.outcome, third.outcome])
    assert outcomes == ["the coordinator did not answer"] * 2
    coordinator.settle(None)
    assert coordinator.outcome() == "the coordinator did not answer"


def test_outcome_is_the_first_one_when_it_is_settled_twice() -> None:
    """Nobody can have learnt another."""
    (vote,) = votes(1)
    vote.settle("broken")
    vote.settle(None)
    assert vote.outcome() == "broken"


def test_store_is_as_before_when_the_vote_is_forgotten() -> None:
    """After a good one and after a failed one: years of saves leave nothing."""
    store = HashStore()
    keys = store.num_keys()
    for failure in (None, "rank 0: broken"):
        of_ranks = votes(2, store=store)
        finish_all(of_ranks, [failure, None])
        assert of_ranks[0].is_over(within_s=LONG_S)
        of_ranks[0].forget()
        assert store.num_keys() == keys


def test_nobody_is_missing_when_all_have_heard() -> None:
    """The last of them while the first one waits for it."""
    first, second, third = votes(3)
    first.note_heard(0)
    third.note_heard(2)

    def wait() -> set[int]:
        return first.wait_heard(frozenset, lambda: None)

    missing, _ = on_threads([wait, lambda: second.note_heard(1)])
    assert missing == set()


def test_ranks_that_have_ended_are_not_waited_for_when_they_have_not_heard() -> None:
    """And one that has heard and then ended is not taken for another that has not."""
    first, _, third, _ = votes(4)
    first.note_heard(0)
    third.note_heard(2)
    gone, limits = {2}, iter([None, None])

    def limit_s() -> float | None:
        gone.update({1, 3} if next(limits, "over") == "over" else {1})
        return None

    assert first.wait_heard(lambda: frozenset(gone), limit_s) == {1, 3}
    assert gone == {1, 2, 3}


def test_waiting_ends_at_its_limit_when_a_rank_does_not_hear() -> None:
    """It lives, and hangs."""
    first, _ = votes(2)
    first.note_heard(0)
    assert first.wait_heard(frozenset, boottime_s) == {1}
