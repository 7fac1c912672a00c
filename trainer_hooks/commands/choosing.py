"""Which saves a command line means."""

from collections.abc import Sequence

from trainer_hooks.checkpoint.layout import SaveName, saves
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.errors import ConfigError


def saves_in(root: Place) -> list[SaveName]:
    """Return all saves in a directory, newest first.

    Raises:
        ConfigError: There is no such directory: a wrong path must not look like an empty one.
    """
    try:
        if root.is_dir():
            return saves(root)
    except OSError as error:
        raise ConfigError(f"{root} cannot be read: {error.strerror}") from error
    raise ConfigError(f"{root} is no directory")


def chosen(root: Place, words: Sequence[str]) -> list[SaveName]:
    """Return the saves that some words name: by their full names, or by their steps.

    Raises:
        ConfigError: One names none, or a step that several have.
    """
    there = saves_in(root)
    return [_chosen(there, word, root) for word in words]


def _chosen(there: Sequence[SaveName], word: str, root: Place) -> SaveName:
    found = [name for name in there if word == str(name) or word == str(name.step)]
    if not found:
        raise ConfigError(f"{root} holds no save of the name or step {word}")
    if len(found) > 1:
        raise ConfigError(f"step {word} was saved more than once, say which: {[*map(str, found)]}")
    return found[0]
