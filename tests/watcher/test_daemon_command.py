"""The daemon as a process on a machine without a cloud, with a program that tells it of notices."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.told_by_program import Mouth
from tests.support.watcher_process import WatcherProcess

pytestmark = pytest.mark.e2e


@pytest.fixture
def mouth(tmp_path: Path) -> Iterator[Mouth]:
    """Return a program that prints what it is told to."""
    mouth = Mouth(tmp_path)
    yield mouth
    mouth.close()


async def test_flag_follows_the_program_when_there_is_no_cloud(
    tmp_path: Path, mouth: Mouth, unused_tcp_port: int
) -> None:
    """Written, kept over a restart, and removed at the program's word, which is all it takes."""
    run_dir, config = tmp_path / "run", tmp_path / "watcher.toml"
    run_dir.mkdir()
    config.write_text(f"[command]\nargv = {json.dumps(mouth.argv)}\nlimit_s = 0.1\n")
    options = ("--cloud=auto", f"--config={config}")
    url = f"http://127.0.0.1:{unused_tcp_port}"
    first = await WatcherProcess.start(run_dir, url, *options)
    assert json.loads(await first.answers("/readyz", 200))["ready"]
    assert "WARNING watcher.start cloud cloud=none why=no cloud has proved itself" in first.log
    mouth.say('{"id": "a", "window_s": 100, "action": "reclaim"}')
    flag = await first.shows("stop")
    assert (flag["source"], flag["kind"], flag["action"]) == ("command", "preemption", "reclaim")
    await first.end(signal.SIGKILL)
    second = await WatcherProcess.start(run_dir, url, *options)
    await eventually(lambda: (second.flag() or flag)["seq"] > flag["seq"])
    again = await second.shows("stop")
    assert [again[name] for name in ("id", "deadline")] == ["command-a", flag["deadline"]]
    await _no_reader_but_one(mouth)
    mouth.say('{"id": "a", "withdrawn": true}')
    await eventually(lambda: second.flag() is None)
    assert await second.end() == 0
    assert _readers(mouth) == []


def _readers(mouth: Mouth) -> list[int]:
    """Return the programs that are running, of whatever run of the daemon."""
    argv = b"\0".join(os.fsencode(word) for word in mouth.argv) + b"\0"
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [int(path.parent.name)] if path.read_bytes() == argv else []
        except OSError:
            continue
    return found


async def _no_reader_but_one(mouth: Mouth) -> None:
    """End the program of the run that was killed, as its service's control group would."""
    await eventually(lambda: len(_readers(mouth)) == 2)
    os.kill(min(_readers(mouth)), signal.SIGKILL)
    await eventually(lambda: len(_readers(mouth)) == 1)
