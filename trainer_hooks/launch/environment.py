"""What ranks are given beside torchrun's own: their time, fresh stores, and enough descriptors."""

import os
import resource

from trainer_hooks.errors import ConfigError
from trainer_hooks.launched import GRACE_VARIABLE

AGENT_EXIT_S = 5.0
"""What the agent itself needs after its workers, out of the window."""

DEFAULT_WINDOW_S = 120.0
"""AWS Spot's notice (cloud-contract 0, 2026-11-30); ranks that are done leave at once anyway."""

TIMEOUT_VARIABLE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"


def set_environment(window_s: float | None, own_timeout_s: int | None) -> None:
    """Give the ranks their time, and tell them of it if anybody knows what it is.

    Args:
        window_s: As for ``launch``.
        own_timeout_s: torchrun's own ``--shutdown-timeout``, which wins over its variable.

    Raises:
        ConfigError: torchrun's variable is no number.
    """
    # With the worker store shared with the agent, an in-agent restart breaks gloo (8.4).
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    timeouts = [] if own_timeout_s is None else [own_timeout_s]
    if own_timeout_s is None and (text := os.environ.get(TIMEOUT_VARIABLE)) is not None:
        timeouts = [_whole_seconds(text)]
    if window_s is not None:
        timeouts.append(_agents_timeout_s(window_s))
    os.environ.setdefault(TIMEOUT_VARIABLE, str(_agents_timeout_s(window_s or DEFAULT_WINDOW_S)))
    if timeouts:  # a default is no deadline to count on: the platform's may be sooner
        os.environ[GRACE_VARIABLE] = str(min(timeouts))


def _agents_timeout_s(window_s: float) -> int:
    return max(1, int(window_s - AGENT_EXIT_S))


def _whole_seconds(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ConfigError(f"{TIMEOUT_VARIABLE} counts whole seconds, not {text!r}") from error


def raise_file_limit() -> None:
    """Rank 0 hosts Store and lifelines: eight connections a rank of the world, and gloo's own."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
