"""A node: an instance whose cloud is simulated, and the watcher that looks after it."""

import http.client
import json
import re
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trainer_hooks.resume_check.stage import Child, Failed, Stage

START_LIMIT_S = 30.0
CALL_LIMIT_S = 10.0


class Node:
    """A simulated Spot instance with a run directory of its own. Once made, it is looked after.

    Args:
        stage: Where its processes run.
        directory: Gets their logs and the run directory; its name is the node's.

    Raises:
        Failed: Simulator or watcher do not come up.
    """

    def __init__(self, stage: Stage, directory: Path) -> None:
        self._stage = stage
        self.run_dir = directory / "run"
        self.run_dir.mkdir(parents=True)
        self._simulator, self._cloud = self._start(
            "simulator", ["simulate", "aws", "--port", "0"], r"listening on (http\S+)\s"
        )
        options = ["--cloud", "aws", "--metadata-endpoint", self._cloud, "--node", directory.name]
        options += ["--run-dir", str(self.run_dir), "--listen", "127.0.0.1:0"]
        self.watcher, self._faces = self._start(
            "watcher", ["run", *options], r"ready listen=(http\S+)\s"
        )
        stage.wait(self.watcher, "an answer of the cloud", self._is_ready, START_LIMIT_S)

    def issue_notice(self, window_s: float) -> float:
        """Let the cloud announce the instance's end; return when, in seconds of Unix time."""
        issued = time.time()
        notice = {"window_s": window_s, "action": "terminate"}
        answer = _call(self._simulator, "POST", f"{self._cloud}/simulator/notice", notice)
        if "error" in answer:
            raise Failed(f"the simulator refuses the notice: {answer}", self._simulator.log)
        return issued

    def heard(self) -> tuple[float, float] | None:
        """Return when the watcher had a stop notice in hand, and when it wrote the flag for it.

        None until the watcher says that the flag is in place; the flag itself says when.
        """
        for notice in _call(self.watcher, "GET", f"{self._faces}/v1/state")["in_force"]:
            action = notice["actions"].get("flag_file")
            if notice["urgency"] == "stop" and action and action["outcome"] == "done":
                flag = json.loads((self.run_dir / "notice.json").read_text(encoding="utf-8"))
                written = datetime.fromisoformat(flag["written_at"]).timestamp()
                return notice["received_unix_s"], written
        return None

    def end(self) -> None:
        """Take the node away."""
        self._stage.end(self.watcher, self._simulator)

    def _is_ready(self) -> bool | None:
        return _call(self.watcher, "GET", f"{self._faces}/readyz")["ready"] or None

    def _start(self, name: str, arguments: list[str], says: str) -> tuple[Child, str]:
        """Start one of the watcher's commands; return it and the address that it tells."""
        node = self.run_dir.parent
        command = [sys.executable, "-m", "watcher", *arguments]
        log = node / f"{name}.log"
        child = self._stage.start(f"{node.name}'s {name}", command, log, variables={})

        def look() -> str | None:
            found = re.search(says, log.read_text(encoding="utf-8"))
            return found and found[1]

        return child, self._stage.wait(child, "its address", look, START_LIMIT_S)


def _call(child: Child, method: str, url: str, fields: object = None) -> Any:  # noqa: ANN401 - JSON
    """Call one of the node's own servers; no proxy is asked, whatever the environment says."""
    address, path = urlsplit(url).netloc, urlsplit(url).path
    connection = http.client.HTTPConnection(address, timeout=CALL_LIMIT_S)
    try:
        connection.request(method, path, body=json.dumps(fields) if fields else None)
        return json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Failed(
            f"{child.name} does not answer {method} {url}: {error!r}", child.log
        ) from error
    finally:
        connection.close()
