"""Telling a rank that failed from one whose peer has gone: the loss of a node is no crash of ours.

A collective that times out is not taken for a loss: it may be a rank that never entered it, which
is a bug and would come again.
"""

from collections.abc import Iterator

from trainer_hooks.errors import AgreementError

_SIGNS = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "Connection was likely closed",
    "remote process exiting prematurely",
)
"""What gloo's pair.cc, c10d's sockets and NCCL's ncclRemoteError say (torch 2.13, 2026-11-30; the
last one from NCCL's documentation, not seen here)."""


def has_lost_peer(error: BaseException) -> bool:
    """Tell whether an error, or what has caused it, is a connection that another rank has ended."""
    return any(
        isinstance(one, AgreementError | RuntimeError | ConnectionError)
        and any(sign in str(one) for sign in _SIGNS)
        for one in _with_causes(error)
    )


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    seen = set[int]()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
