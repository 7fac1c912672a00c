"""A node's place in the rendezvous, held against torchrun's own, over a Store in memory."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from torch.distributed import HashStore
from torch.distributed.elastic.rendezvous import dynamic_rendezvous as torchs
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.elastic.rendezvous.static_tcp_rendezvous import StaticTCPRendezvous

from trainer_hooks.launch.rendezvous import Membership, begin_anew

Join = Callable[[], tuple[Any, Membership]]


@pytest.fixture
def join() -> Join:
    """Let nodes join one rendezvous of two to three; each call is another node."""
    store = HashStore()

    def joined() -> tuple[Any, Membership]:
        backend = C10dRendezvousBackend(store, "job")
        handler = torchs.DynamicRendezvousHandler.from_backend("job", store, backend, 1, 3)
        us = Membership()
        us.belong_to(handler)
        assert us.change(lambda state: took_part(state, handler))
        return handler, us

    return joined


def took_part(state: torchs._RendezvousState, handler: Any) -> bool:  # noqa: ANN401 - private
    """Put a node among the participants of a round that is under way."""
    handler._state_holder._state = state
    handler._op_executor._state = state
    handler._op_executor._add_to_participants()
    handler._op_executor._mark_rendezvous_complete()
    return True


def test_node_is_out_when_it_has_withdrawn(join: Join) -> None:
    """The others are as they were; the last one to go makes room for a new round."""
    (_, one), (handler, other) = join(), join()
    one.withdraw()
    state = other.view().state
    assert list(state.participants) == list(state.last_heartbeats) == [handler._this_node]
    assert (state.complete, state.round) == (True, 0)
    other.withdraw()
    state = other.view().state
    assert not state.participants
    assert (state.complete, state.round) == (False, 1)


def test_node_is_out_when_it_withdraws_while_it_waits(join: Join) -> None:
    """A rendezvous that is not complete does not count on it."""
    join()
    handler, us = join()
    node = handler._this_node

    def waiting(state: torchs._RendezvousState) -> bool:
        del state.participants[node]
        state.wait_list.add(node)
        return True

    us.change(waiting)
    us.withdraw()
    assert node not in us.view().state.wait_list


def test_nothing_is_written_when_a_node_is_out_already(join: Join) -> None:
    """Its heartbeat was missed before."""
    _, us = join()
    us.withdraw()
    assert not us.change(us.forget_us)


def test_change_is_made_again_when_another_node_has_written(join: Join) -> None:
    """None of the two is lost."""
    (_, one), (_, other) = join(), join()
    seen = []

    def seventh(state: torchs._RendezvousState) -> bool:
        state.round = 7
        return True

    def mark(state: torchs._RendezvousState) -> bool:
        seen.append(state.round)
        if len(seen) == 1:
            assert other.change(seventh)
        state.closed = True
        return True

    assert one.change(mark)
    state = one.view().state
    assert (seen, state.round, state.closed) == ([0, 7], 7, True)


def test_rendezvous_is_begun_anew_when_all_of_the_start_that_closed_it_are_gone(
    join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a round of its own, as the Store still has what was written in the one before."""
    handler, us = join()
    handler._close()
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        us.change(lambda state: state.last_heartbeats.clear() is None)

    monkeypatch.setattr("trainer_hooks.launch.rendezvous.time.sleep", wait)
    us.reopen()
    state = us.view().state
    assert waits == [1.0]
    assert (state.closed, state.complete, state.round) == (False, False, 1)
    assert not state.participants
    us.reopen()
    assert us.view().state.round == 1


def test_rendezvous_stays_closed_when_nodes_of_the_earlier_start_live_on(join: Join) -> None:
    """They train, or end; this one waits only as long as for nodes."""
    handler, us = join()
    handler._close()
    handler._settings.timeout._set_timeouts(join=timedelta(microseconds=1))
    us.reopen()
    assert us.view().state.closed
    assert not us.change(begin_anew)


def test_nothing_is_done_when_the_rendezvous_is_fixed() -> None:
    """--master-addr: there is nothing to leave, and nothing to come back to."""
    us = Membership()
    us.withdraw()
    us.belong_to(StaticTCPRendezvous("127.0.0.1", 1, 0, 1, "job", timeout=1))
    us.withdraw()
    us.reopen()
