"""What a failed call to the API server means to the action that made it."""

from collections.abc import Iterator
from contextlib import contextmanager

from watcher.errors import (
    ActionRefused,
    ActionRetryable,
    KubeError,
    KubeForbidden,
    KubeNotFound,
    KubeRefused,
)


@contextmanager
def as_action_error() -> Iterator[None]:
    """Say of a failed call whether trying again may help."""
    try:
        yield
    except KubeRefused as error:
        raise ActionRefused(f"{error}. An admission policy may forbid it") from error
    except KubeForbidden as error:
        # It may pass: an API server that has just started does not know the rights so far.
        raise ActionRetryable(f"{error}. The account may lack a right") from error
    except KubeNotFound as error:
        raise ActionRetryable(f"{error}. It may be about to join") from error
    except KubeError as error:
        raise ActionRetryable(str(error)) from error
