"""The commands that README, docs/ and deploy/ tell people to type, and what is said of each.

A comment just before a block says who runs it: `<!-- run by tests/x/test_y.py::test_z -->`, or
`<!-- needs a cloud -->`. A block without one is run as it stands.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests.support.image_root import ROOT

OURS = ("reprieve-watcher", "reprieve-trainer")

PROGRAMS = frozenset(
    {
        *OURS,
        *("apt", "aws", "cd", "curl", "docker", "export", "gcloud", "install", "ip", "kubectl"),
        *("make", "mkdir", "pip", "podman", "printf", "python", "python3", "rm", "runuser"),
        *("sbatch", "ssh", "systemctl", "install.sh", "dpkg", "git", "cp", "sudo"),
        *("sha256sum", "promtool", "journalctl", "squeue", "scontrol", "helm", "az", "bash", "sh"),
    }
)
"""What a block of commands begins with, whatever its folder is."""

_NAMING_UNITS = frozenset({"systemctl", "journalctl"})
"""For which our programs' names are those of units."""

_LANGUAGES = ("", "sh", "bash", "shell", "console")
_MARK = re.compile(r"<!-- (?:(?P<what>needs|run by) (?P<whom>[^>]+)) -->\s*")
_SEPARATORS = frozenset("();<>|&$")


@dataclass(frozen=True, slots=True)
class Block:
    """Commands of one page."""

    page: str
    line: int
    text: str
    needs: str | None
    """What it can't be run without here, in words."""
    run_by: str | None
    """The test that runs it."""

    def __str__(self) -> str:
        """Return where it is."""
        return f"{self.page}:{self.line}"

    def commands(self) -> list[list[str]]:
        """Return the words of each command, those in pipes and substitutions too."""
        text = re.sub(r"^\$ ", "", self.text, flags=re.MULTILINE).replace("\\\n", " ")
        found: list[list[str]] = []
        for line in text.splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars="();<>|&$")
            words.whitespace_split = True
            found.append([])
            for word in words:
                if set(word) <= _SEPARATORS:
                    found.append([])
                else:
                    found[-1].append(word)
        return [command for command in found if command]

    def ours(self) -> list[list[str]]:
        """Return the command lines of this project's programs, the programs themselves included."""
        return [
            [Path(command[place]).name, *command[place + 1 :]]
            for command in self.commands()
            if command[0] not in _NAMING_UNITS
            for place in [next((i for i, word in enumerate(command) if is_ours(word)), None)]
            if place is not None
        ]


def is_ours(word: str) -> bool:
    """Whether a word is one of this project's programs."""
    return word in OURS or (word.startswith("/") and Path(word).name in OURS)


def pages() -> list[Path]:
    """Return every page that a reader may type commands from."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [ROOT / name for name in sorted(listed) if not name.startswith("tests/")]


def blocks() -> Iterator[Block]:
    """Find them all."""
    for page in pages():
        yield from blocks_of(page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8"))


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """Find the blocks of commands of a page."""
    mark: re.Match[str] | None = None
    for token in MarkdownIt("commonmark").parse(text):
        is_block = token.type in {"code_block", "fence"} and token.info.strip() in _LANGUAGES
        if is_block and (mark is not None or is_typed(token.content)):
            said = {mark["what"]: mark["whom"]} if mark is not None else {}
            yield Block(
                page=page,
                line=token.map[0] + 1 if token.map else 0,
                text=token.content,
                needs=said.get("needs"),
                run_by=said.get("run by"),
            )
        mark = _MARK.fullmatch(token.content) if token.type == "html_block" else None


def is_typed(text: str) -> bool:
    """Whether a block holds commands, by its first word that is neither a comment nor a value."""
    for line in text.splitlines():
        words = line.removeprefix("$ ").split()
        words = [word for word in words if not re.fullmatch(r"[A-Z_]+=\S*", word)]
        if words and not words[0].startswith("#"):
            return words[0] in PROGRAMS or Path(words[0]).name in PROGRAMS
    return False
