"""Whether an error says that another rank has gone."""

import pytest
from torch.distributed import DistNetworkError

from trainer_hooks.errors import AgreementError
from trainer_hooks.peer_lost import has_lost_peer

GLOO = "[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:46735. This is ..."
STORE = "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown?"


def caused(error: BaseException, cause: BaseException) -> BaseException:
    """Return an error with its cause."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "is_lost"),
    [
        (RuntimeError(GLOO), True),
        (DistNetworkError(STORE), True),
        (ConnectionResetError("[Errno 104] Connection reset by peer"), True),
        (caused(AgreementError("the Store is lost"), DistNetworkError(STORE)), True),
        (caused(ValueError("in the script"), RuntimeError(GLOO)), True),
        (RuntimeError("Timed out waiting 1800000ms for recv operation to complete"), False),
        (RuntimeError("CUDA out of memory"), False),
        (ValueError("Connection closed by peer"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_loss_is_told_from_a_failure_of_ones_own(error: BaseException, is_lost: bool) -> None:  # noqa: FBT001 - a case's
    """By what gloo, c10d and NCCL say of an ended connection, also deep below."""
    assert has_lost_peer(error) is is_lost


def test_loss_is_looked_for_to_an_end_when_causes_go_round() -> None:
    """Two errors that name each other."""
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert not has_lost_peer(one)
