"""What a user has said of a run's saves."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.place import Place, place_of
from trainer_hooks.checkpoint.resume import Verify
from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.auto import AutoInterval, parse_save_every


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSaves:
    """A second tier of saves, on each node's own disk, for crashes that leave the node alive.

    Raises:
        ConfigError: It is no directory of a file system, or ``save_every`` counts no steps.
    """

    directory: str | os.PathLike[str]
    """On a disk of the node. Each rank keeps two saves of what it holds there."""
    save_every: int
    """Steps between them."""

    def __post_init__(self) -> None:
        _path_on_a_disk(self.directory)
        if self.save_every < 1:
            raise ConfigError(f"save_every counts steps: {self.save_every} of local saves")

    @property
    def path(self) -> Path:
        """The directory."""
        return _path_on_a_disk(self.directory)


def _path_on_a_disk(directory: str | os.PathLike[str]) -> Path:
    place = place_of(directory)
    if not isinstance(place, Path):
        raise ConfigError(f"local saves go to a node's own disk, not to {directory}")
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRules:
    """When a run saves, what it keeps, and how closely it looks at what it resumes from.

    Raises:
        ConfigError: A value makes no sense.
    """

    root: Place
    """The checkpoint directory, or a part of a bucket: the same storage on all ranks."""
    save_every: int | AutoInterval
    """Steps between saves, or how the run chooses them."""
    keep: Keep | None
    """What is kept when there are newer checkpoints; None for everything."""
    verify: str
    """A ``Verify``."""
    local: LocalSaves | None = None
    """A second tier, or none."""
    writers_at_once: int | None = None
    """So many ranks of a node write at a time; None for all."""

    @classmethod
    def told(  # noqa: PLR0913 - as TrainerHooks has them
        cls,
        checkpoint_dir: str | os.PathLike[str],
        save_every: int | str | AutoInterval,
        keep: int | Keep | None,
        verify: str,
        local: LocalSaves | None = None,
        *,
        writers_at_once: int | None = None,
    ) -> Self:
        """Return the rules, as a program has written them.

        Raises:
            ConfigError: One makes no sense.
        """
        return cls(
            root=place_of(checkpoint_dir),
            save_every=parse_save_every(save_every),
            keep=Keep(last=keep) if isinstance(keep, int) else keep,
            verify=verify,
            local=local,
            writers_at_once=writers_at_once,
        )

    @property
    def save_every_is_chosen(self) -> bool:
        """Whether the run chooses it, by what it and earlier starts have measured."""
        return not isinstance(self.save_every, int)

    def __post_init__(self) -> None:
        if self.verify not in set(Verify):
            raise ConfigError(f"verify is one of {[*map(str, Verify)]}, not {self.verify!r}")
        if self.writers_at_once is not None and self.writers_at_once < 1:
            raise ConfigError(f"writers_at_once counts ranks, or is None: {self.writers_at_once}")
