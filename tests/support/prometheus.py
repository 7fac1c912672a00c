"""A real Prometheus on loopback, where one is installed (Debian: apt-get install prometheus)."""

import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency for few tests
from lab.child import end

from tests.support.ports import quiet_port

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
RULES = MONITORING / "rules.yaml"

_START_LIMIT_S = 30.0
_CHANGE_LIMIT_S = 40.0

_IN_SECONDS = (
    (re.compile(r"\bfor: \w+"), "for: 1s"),
    (re.compile(r"\binterval: \w+"), "interval: 1s"),
    (re.compile(r"\[\w+\]"), "[20s]"),
    (re.compile(r"> 120\b"), "> 3"),
    # More than it takes from a trainer's word over the watcher and a scrape to a rule.
    (re.compile(r"> (3600|86400)\b"), "> 12"),
)
"""How the rules are made to act within seconds; what they look at stays as it is."""


def program(name: str) -> str:
    """Return where a program is; skips the test where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; Debian has it in prometheus, amtool apart")
    return found


def hurried_rules() -> str:
    """Return the alerts with minutes and hours made seconds."""
    text = RULES.read_text()
    for pattern, instead in _IN_SECONDS:
        text = pattern.sub(instead, text)
    return text


class Prometheus:
    """One that scrapes, and judges the alerts, every second."""

    def __init__(self, url: str) -> None:
        self._url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return what an instant query finds now."""
        query = urllib.parse.urlencode({"query": expression})
        found: list[dict[str, Any]] = self._ask(f"query?{query}")["result"]
        return found

    def words(self, alert: str) -> list[str]:
        """Return what an alert that fires, or is about to, tells people."""
        alerts = self._ask("alerts")["alerts"]
        ours = [one["annotations"] for one in alerts if one["labels"]["alertname"] == alert]
        return [text for annotations in ours for text in annotations.values()]

    def firing(self) -> set[str]:
        """Return the alerts that fire."""
        return {one["metric"]["alertname"] for one in self.query('ALERTS{alertstate="firing"}')}

    def wait_for(self, alert: str, *, is_firing: bool) -> None:
        """Wait until an alert fires, or does no longer."""
        end = time.monotonic() + _CHANGE_LIMIT_S
        while (alert in self.firing()) is not is_firing:
            what = "fire" if is_firing else "clear"
            assert time.monotonic() < end, f"{alert} does not {what}; firing: {self.firing()}"
            time.sleep(0.2)
        for text in self.words(alert):
            assert "<" not in text, f"{alert} tells people of a broken template: {text}"

    def _ask(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._url}/api/v1/{path}", timeout=10) as answer:  # noqa: S310 - our own server
            said: dict[str, Any] = json.load(answer)["data"]
        return said

    def wait_for_data(self, expression: str) -> list[dict[str, Any]]:
        """Wait until a query finds something, and return it."""
        end = time.monotonic() + _CHANGE_LIMIT_S
        while not (found := self.query(expression)):
            assert time.monotonic() < end, f"no data for {expression}"
            time.sleep(0.2)
        return found


@contextmanager
def prometheus(directory: Path, target: str) -> Iterator[Prometheus]:
    """Run one in the block that scrapes ``target`` by the hurried rules."""
    binary, port = program("prometheus"), quiet_port()
    directory.mkdir()
    (directory / "rules.yaml").write_text(hurried_rules())
    scraped = {"job_name": "reprieve-watcher", "static_configs": [{"targets": [target]}]}
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [scraped],
    }
    (directory / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    command = [
        binary,
        f"--config.file={directory / 'prometheus.yaml'}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    log = directory / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        running = Prometheus(f"http://127.0.0.1:{port}")
        _wait_ready(f"http://127.0.0.1:{port}/-/ready", process, log)
        yield running
    finally:
        end(process)


def _wait_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own server
                return
        except OSError:
            said = log.read_text(errors="replace")[-2000:]
            assert process.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.1)
