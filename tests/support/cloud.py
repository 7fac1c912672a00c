"""A node of our own cloud: the simulator and the watcher as real processes."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.support.launching import wait_until

EXECUTABLE = Path(sys.executable).with_name("reprieve-watcher")


@dataclass(kw_only=True)
class Node:
    """One node with its metadata service. Leaving the block ends both processes."""

    directory: Path
    simulator: subprocess.Popen[bytes] | None = None
    watcher: subprocess.Popen[bytes] | None = None
    metadata_url: str = ""
    options: Sequence[str] = field(default_factory=tuple)
    inside: Sequence[str] = field(default_factory=tuple)
    """The command by which the next process is started, if it is not started by itself."""

    @property
    def run_dir(self) -> Path:
        """Where the flag file is."""
        return self.directory / "run"

    @property
    def flag(self) -> Path:
        """The flag file."""
        return self.run_dir / "notice.json"

    def __enter__(self) -> Self:
        self.run_dir.mkdir(parents=True, exist_ok=True)
        try:
            self.simulator = self._start("simulator", "simulate", "aws", "--port", "0")
            self.metadata_url = self._wait_for("simulator", r"listening on (http://\S+)")
            self.start_watcher()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self.watcher, self.simulator):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()

    def start_watcher(self) -> None:
        """Start the daemon, anew if there was one, and wait until it is ready."""
        self.watcher = self._start(
            "watcher",
            "run",
            "--cloud=aws",
            f"--run-dir={self.run_dir}",
            f"--metadata-endpoint={self.metadata_url}",
            "--listen=127.0.0.1:0",
            *self.options,
        )
        self._wait_for("watcher", r"ready.* listen=(http://\S+)")

    def kill_watcher(self) -> None:
        """SIGKILL the daemon."""
        assert self.watcher is not None
        self.watcher.send_signal(signal.SIGKILL)
        self.watcher.wait()

    def issue_notice(self, window_s: float = 120.0) -> None:
        """Let the cloud take the instance."""
        self._post("notice", {"window_s": window_s, "action": "terminate"})

    def advise(self) -> None:
        """Let the cloud recommend to move elsewhere."""
        self._post("rebalance", {})

    def inflict(self, kind: str, **fields: object) -> None:
        """Let the metadata service fail until its faults are lifted."""
        self._post("fault", {"kind": kind, **fields})

    def lift_faults(self) -> None:
        """Let it answer as usual again."""
        self._post("fault", {}, method="DELETE")

    def _post(self, what: str, body: dict[str, Any], *, method: str = "POST") -> None:
        request = urllib.request.Request(  # noqa: S310 - our own simulator
            f"{self.metadata_url}/simulator/{what}", json.dumps(body).encode(), method=method
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - likewise
            assert answer.status < 300

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        with self._log(name).open("wb") as file:
            return subprocess.Popen(
                [*self.inside, EXECUTABLE, *arguments],
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
            )

    def _wait_for(self, name: str, pattern: str) -> str:
        wait_until(lambda: re.search(pattern, self.log(name)), f"{name} to be ready")
        found = re.search(pattern, self.log(name))
        assert found is not None
        return found[1]

    def log(self, name: str) -> str:
        """Return what the simulator or the watcher has written."""
        return self._log(name).read_text(encoding="utf-8", errors="replace")

    def _log(self, name: str) -> Path:
        return self.directory / f"{name}.txt"
