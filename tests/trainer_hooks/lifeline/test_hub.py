"""Hub and spokes: who is missed, by whom, and who is let go."""

import errno
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.support.deaf import deafen
from tests.support.waiting import wait_until
from trainer_hooks.lifeline import hub as hub_module
from trainer_hooks.lifeline.hub import Hub
from trainer_hooks.lifeline.line import Line
from trainer_hooks.lifeline.spoke import Spoke

SIZE, LOST_S = 4, 1


class End:
    """A hub or a spoke, with its thread."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self.waker, self.awake = socket.socketpair()
        self.end: Hub | Spoke | None = None
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        assert self.end is not None
        self.end.serve(self.awake)

    def leave(self, *, is_orderly: bool) -> None:
        """Hang up."""
        assert self.end is not None
        self.waker.close()
        self.thread.join(20)
        self.end.close(is_orderly=is_orderly)
        self.awake.close()


class Ends:
    """The ends of all ranks."""

    def __init__(self) -> None:
        self.all = [End() for _ in range(SIZE)]
        self.hub = Hub(SIZE, LOST_S, self.all[0].lost.append)
        self.all[0].end = self.hub
        for rank in range(1, SIZE):
            self.all[rank].end = Spoke(rank, LOST_S, self.all[rank].lost.append)

    def connect(self) -> None:
        """Open all lines."""
        self.all[0].thread.start()
        for end in self.all[1:]:
            assert isinstance(end.end, Spoke)
            end.end.connect(["127.0.0.1"], self.hub.port, self.hub.token)
            end.thread.start()
        wait_until(lambda: len(self.hub._lines) == SIZE - 1)

    def line(self, rank: int) -> Line:
        """Return a spoke's line."""
        spoke = self.all[rank].end
        assert isinstance(spoke, Spoke)
        assert spoke._line is not None
        return spoke._line

    def lost(self) -> list[list[str]]:
        """Return what each rank was told."""
        return [end.lost for end in self.all]

    def wait_for_losses(self, *ranks: int) -> None:
        """Wait until these have been told."""
        wait_until(lambda: all(self.all[rank].lost for rank in ranks), limit_s=30)


@contextmanager
def ends() -> Iterator[Ends]:
    """Open the lines of all ranks, and close them in the end."""
    made = Ends()
    made.connect()
    yield made
    for end in made.all:
        if end.waker.fileno() != -1:
            end.leave(is_orderly=True)


def test_all_are_told_when_a_ranks_machine_does_not_answer() -> None:
    """By rank 0; the lost one, should it live, finds that it hears nothing of rank 0."""
    with ends() as some:
        deafen(some.line(2).connection)
        some.wait_for_losses(0, 1, 3)
        said = f"rank 2 is lost: its machine has not answered for {LOST_S} s"
        told = "rank 2 is lost, says rank 0"
        assert [some.all[rank].lost for rank in (0, 1, 3)] == [[said], [told], [told]]


def test_all_find_out_when_rank_0s_machine_does_not_answer() -> None:
    """Each by its own line: nobody is left to tell them."""
    with ends() as some:
        for line in some.hub._lines.values():
            deafen(line.connection)
        some.wait_for_losses(1, 2, 3)
        said = f"rank 0 is lost: its machine has not answered for {LOST_S} s"
        assert some.lost()[1:] == [[said]] * 3


@pytest.mark.parametrize("gone", [0, 2])
def test_rank_is_missed_when_it_has_ended_without_a_word(gone: int) -> None:
    """After the same time: those who hear of it from gloo have left by then."""
    with ends() as some:
        some.all[gone].leave(is_orderly=False)
        left = [rank for rank in range(SIZE) if rank != gone]
        some.wait_for_losses(*left)
        assert all(some.all[rank].lost[0].startswith(f"rank {gone} is lost") for rank in left)


@pytest.mark.parametrize("gone", [0, 2])
def test_rank_is_not_missed_when_it_leaves_in_order(gone: int) -> None:
    """Its word comes before the end of its line."""
    with ends() as some:
        some.all[gone].leave(is_orderly=True)
        if gone == 0:
            wait_until(lambda: not any(end.thread.is_alive() for end in some.all[1:]))
        else:
            wait_until(lambda: gone not in some.hub._lines)
            assert some.hub._ended_s == {}
        assert some.lost() == [[]] * SIZE


def test_strangers_are_dropped_when_they_do_not_know_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nonsense, a wrong rank, half a word, and nothing at all; the ranks' lines stand."""
    with ends() as some:
        monkeypatch.setattr(hub_module, "HELLO_S", 0.1)  # the ranks have said theirs
        at = ("127.0.0.1", some.hub.port)
        token = some.hub.token
        for said in (
            b"GET / HTTP/1.1\r\n\r\n....",
            token + bytes(4),
            token + b"\0\0\0\x09",
            b"",
            b"x",
        ):
            with socket.create_connection(at) as stranger:
                stranger.settimeout(20)
                stranger.sendall(said)
                with suppress(ConnectionResetError):  # what it has said was not read
                    assert stranger.recv(1) == b""
        assert sorted(some.hub._lines) == [1, 2, 3]
        assert some.lost() == [[]] * SIZE


def test_rank_is_heard_when_it_says_who_it_is_in_pieces() -> None:
    """And its new line takes the place of an older one."""
    with ends() as some:
        older = some.hub._lines[1]
        with socket.create_connection(("127.0.0.1", some.hub.port)) as again:
            again.sendall(some.hub.token[:5])
            wait_until(lambda: any(who.hello for who in some.hub._strangers.values()))
            again.sendall(some.hub.token[5:] + b"\0\0\0\x01")
            assert again.recv(16) == some.hub.token[::-1]
            wait_until(lambda: some.hub._lines.get(1) not in (None, older))


def test_spoke_goes_on_to_the_next_address_when_somebody_else_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine of the same address, as 127.0.0.1 is everywhere, is not rank 0's."""

    def listen(_: int) -> socket.socket:
        listening = socket.create_server(("127.0.0.1", 0))
        listening.settimeout(0)
        return listening

    monkeypatch.setattr(hub_module, "_listen", listen)
    hub = Hub(SIZE, LOST_S, lambda _: None)
    spoke = Spoke(1, LOST_S, lambda _: None)
    with socket.create_server(("127.0.0.2", hub.port)) as other:

        def answer() -> None:
            connection, _ = other.accept()
            connection.sendall(connection.recv(100))
            connection.close()

        answering = threading.Thread(target=answer)
        answering.start()
        serving = threading.Thread(target=hub.serve, args=((pair := socket.socketpair())[0],))
        serving.start()
        spoke.connect(["127.0.0.2", "127.0.0.1"], hub.port, hub.token)
        answering.join(20)
    assert spoke._line is not None
    assert spoke._line.connection.getpeername()[0] == "127.0.0.1"
    pair[1].close()
    serving.join(20)
    spoke.close(is_orderly=True)
    hub.close(is_orderly=True)
    pair[0].close()


def test_reason_names_every_address_when_none_leads_to_rank_0() -> None:
    """Somebody has to find out why."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(OSError, match=r"127\.0\.0\.1: .*refused.*127\.0\.0\.2: .*refused"):
        Spoke(1, LOST_S, lambda _: None).connect(["127.0.0.1", "127.0.0.2"], port, bytes(16))


def test_hub_pauses_when_there_is_no_descriptor_for_whoever_has_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who waits at the door keeps it readable: it would be tried without end, by a whole core."""
    paused_s = list[float]()
    monkeypatch.setattr(time, "sleep", paused_s.append)
    hub = Hub(SIZE, LOST_S, lambda _: None)
    with socket.create_connection(("127.0.0.1", hub.port)), monkeypatch.context() as exhausted:
        exhausted.setattr(socket.socket, "accept", refuse)
        hub._accept()
    assert paused_s == [hub_module.LOOK_S]
    hub.close(is_orderly=True)


def refuse(_: socket.socket) -> None:
    """Fail as where too many files are open."""
    raise OSError(errno.EMFILE, "Too many open files")
