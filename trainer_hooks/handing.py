"""What of the data a step was handed: by loaders, or as a loop counts that fetches it itself."""

import operator
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, SupportsIndex, TypeVar

from torch.utils.data import DataLoader

from trainer_hooks.batches import NoteWait, handed_out, note_batch
from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError

if TYPE_CHECKING:  # as in batches
    from trainer_hooks.state import TrainState

B = TypeVar("B")


class Handing:
    """Keeps the data position of a run in step with its steps. The training thread calls it.

    Args:
        state: Whose data position it is.
        note_wait: Told each wait for a batch, in seconds.
    """

    def __init__(self, state: "TrainState", note_wait: NoteWait) -> None:
        self._state = state
        self._note_wait = note_wait
        self._batches: list[Generator[object, None, None]] = []
        self._consumed: int | None = None
        """Samples of this rank in the step under way; None between steps."""
        self._is_told = False
        """Whether the loop has counted for itself."""
        self._is_noted = False
        """Whether what a step takes was held against what it took before the resume."""

    def batches(self, loader: DataLoader[B]) -> Iterator[B]:
        """Iterate over a loader, as ``hooks.batches`` says.

        Raises:
            ConfigError: Nobody would know which of its batches were handed out.
        """
        if self._is_told:
            raise ConfigError(_TWICE)
        batches = handed_out(loader, self._state, self._note_wait)
        self._batches.append(batches)
        return batches

    def begin_step(self) -> None:
        """Forget a step that was not finished: it is done again."""
        self._consumed = 0

    def consumed(self, samples: SupportsIndex) -> None:
        """Count samples of this rank, and as many of each other one, towards the step under way.

        Raises:
            ConfigError: There is no step under way, nobody keeps such a position, ``hooks.batches``
                counts already, or it is no number of samples.
        """
        sampler = self._state.data
        if not isinstance(sampler, ResumableSampler):
            raise ConfigError(
                "hooks.consumed moves the position of a ResumableSampler, and TrainState(data=...) "
                f"is a {type(sampler).__name__}"
            )
        if self._batches:
            raise ConfigError(_TWICE)
        self.must_be_in_step("hooks.consumed counts samples of a step")
        self._is_told = True
        self._consumed = (self._consumed or 0) + _number_of(samples)

    def must_be_in_step(self, what: str) -> bool:
        """Return True within a step.

        Raises:
            ConfigError: No step is under way.
        """
        if self._consumed is None:
            raise ConfigError(f"{what}: call it within one")
        return True

    def end_step(self) -> None:
        """Move the position past what the step has consumed, before anything saves it."""
        consumed, self._consumed = self._consumed, None
        if consumed and isinstance(sampler := self._state.data, ResumableSampler):
            if not self._is_noted:
                note_batch(sampler, consumed)
                self._is_noted = True
            sampler.advance(consumed)

    def close(self) -> None:
        """Drop the DataLoaders' iterators, whose workers end with them."""
        for batches in self._batches:
            batches.close()


_TWICE = (
    "hooks.batches counts the samples that it hands out, and hooks.consumed would count them once "
    "more: use one of them"
)


def _number_of(samples: SupportsIndex) -> int:
    try:
        number = operator.index(samples)
    except TypeError:
        number = -1
    if number < 0:
        raise ConfigError(f"hooks.consumed was told {samples!r}, which is no number of samples")
    return number
