"""``reprieve-trainer checkpoints``, in the test's own process."""

import json
from pathlib import Path
from typing import Any

import pytest

from trainer_hooks import cli
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.layout import saves


class Tool:
    """The command on one directory, as a user calls it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def __call__(self, command: str, *arguments: str) -> tuple[int, str, str]:
        """Return the exit code, and what was printed where."""
        self._capsys.readouterr()
        code = cli.run(["checkpoints", command, str(self.root), *arguments])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def lines(self, command: str, *arguments: str) -> list[str]:
        """Return what a command that succeeds has printed."""
        code, out, err = self(command, *arguments)
        assert (code, err) == (0, "")
        return out.splitlines()

    def ls(self) -> dict[int, dict[str, Any]]:
        """Return what ``ls --json`` says, by step."""
        return {entry["step"]: entry for entry in json.loads("\n".join(self.lines("ls", "--json")))}

    @property
    def newest_step(self) -> int | None:
        """Where a run would go on."""
        newest = latest_committed(self.root)
        return None if newest is None else newest.step

    @property
    def steps(self) -> list[int]:
        """The steps of the directories that are there."""
        return [name.step for name in saves(self.root)]
