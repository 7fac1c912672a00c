"""What a user has said of a run's saves."""

import os
from dataclasses import dataclass
from pathlib import Path

from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.resume import Verify
from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.auto import AutoInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRules:
    """When a run saves, what it keeps, and how closely it looks at what it resumes from.

    Raises:
        ConfigError: A value makes no sense.
    """

    root: Path
    """The checkpoint directory, the same storage on all ranks."""
    save_every: int | AutoInterval
    """Steps between saves, or how the run chooses them."""
    keep: Keep | None
    """What is kept when there are newer checkpoints; None for everything."""
    verify: str
    """A ``Verify``."""

    def __post_init__(self) -> None:
        if self.verify not in set(Verify):
            raise ConfigError(f"verify is one of {[*map(str, Verify)]}, not {self.verify!r}")


def directory_of(text: str | os.PathLike[str]) -> Path:
    """Return the checkpoint directory that a program names.

    Raises:
        ConfigError: It is a URL. As a path it would be a directory of an odd name on this node.
    """
    if "://" in os.fspath(text):
        raise ConfigError(f"checkpoint_dir is a path that all ranks share, not a URL: {text}")
    return Path(text)
