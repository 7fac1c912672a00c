"""What a user has said of a run's saves."""

import os
from dataclasses import dataclass
from typing import Self

from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.place import Place, place_of
from trainer_hooks.checkpoint.resume import Verify
from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.auto import AutoInterval, parse_save_every


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

    @classmethod
    def told(
        cls,
        checkpoint_dir: str | os.PathLike[str],
        save_every: int | str | AutoInterval,
        keep: int | Keep | None,
        verify: str,
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
        )

    @property
    def save_every_is_chosen(self) -> bool:
        """Whether the run chooses it, by what it and earlier starts have measured."""
        return not isinstance(self.save_every, int)

    def __post_init__(self) -> None:
        if self.verify not in set(Verify):
            raise ConfigError(f"verify is one of {[*map(str, Verify)]}, not {self.verify!r}")
