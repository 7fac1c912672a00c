"""What a container is started with: the launcher, its options, and the shell around it."""

import re
import shlex
from dataclasses import dataclass

from trainer_hooks.manifest.document import Tree

_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")

_TORCH_MODULES = ("torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic")


@dataclass(frozen=True, slots=True)
class Command:
    """The words of a command line."""

    words: tuple[str, ...]
    """From the launcher's name on, where there is one."""
    launcher: str | None
    """``launch`` for ours, ``torchrun`` for torch's, None for neither."""
    script: str | None
    """What a shell is told to do; None without a shell."""
    line: int

    def option(self, *names: str) -> str | None:
        """Return the value of an option of the launcher, under any of its names."""
        for at, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if name.replace("_", "-") in names:
                following = self.words[at + 1] if at + 1 < len(self.words) else ""
                return value if equals else following
        return None


def command_of(container: Tree) -> Command:
    """Return a container's command line, looking into a shell's script."""
    trees = [*container.at("command").items, *container.at("args").items]
    words = [tree.text for tree in trees]
    line = trees[0].line if trees else container.line
    script = None
    if words and words[0].rpartition("/")[2] in _SHELLS:
        for at, word in enumerate(words[1:], 1):
            if re.fullmatch(r"-[a-z]*c[a-z]*", word) and at + 1 < len(words):
                script, line = words[at + 1], trees[at + 1].line
                break
    return command_line(words if script is None else split(script), script, line)


def command_line(words: list[str], script: str | None, line: int) -> Command:
    """Find the launcher in some words."""
    for at, word in enumerate(words):
        name = word.rpartition("/")[2]
        following = words[at + 1] if at + 1 < len(words) else ""
        if name == "reprieve-trainer" and following == "launch":
            return Command(tuple(words[at + 1 :]), "launch", script, line)
        if name == "torchrun" or (word == "-m" and following in _TORCH_MODULES):
            return Command(tuple(words[at:]), "torchrun", script, line)
    return Command(tuple(words), None, script, line)


def whole(text: str | None) -> int | None:
    """Return a whole number of at most nine digits, or None if a word is none."""
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else None


def split(script: str) -> list[str]:
    """Return a shell script's words, as well as can be."""
    joined = re.sub(r"\\\r?\n", " ", script)
    try:
        return shlex.split(joined, comments=True)
    except ValueError:  # a quote that is not closed
        return joined.split()
