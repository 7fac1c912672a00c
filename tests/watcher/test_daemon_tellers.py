"""The daemon as a process, which tells a server and a program of its notices."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.actions_page import BLOCKS
from tests.support.certificate import certified
from tests.support.clocks import eventually
from tests.support.hooked import HANG, hooked
from tests.support.told_by_program import Mouth
from tests.support.watcher_process import WatcherProcess, daemon_process

pytestmark = pytest.mark.e2e

CANARY = "canary-3d81"
ON_NOTICE = """#!/bin/sh
echo "$* $REPRIEVE_NOTICE_STATE $REPRIEVE_NOTICE_KIND" >> "$(dirname "$0")/ran"
"""


@pytest.fixture
def mouth(tmp_path: Path) -> Iterator[Mouth]:
    """Return a program that prints what it is told to."""
    mouth = Mouth(tmp_path)
    yield mouth
    mouth.close()


def settings(tmp_path: Path, mouth: Mouth, url: str) -> Path:
    """Return a file with the page's own example, and a program that tells of notices."""
    example = BLOCKS[0].replace("/etc/reprieve", str(tmp_path))
    (tmp_path / "slack-url").write_text(url)
    program = tmp_path / "on-notice"
    program.write_text(ON_NOTICE)
    program.chmod(0o755)
    config = tmp_path / "watcher.toml"
    config.write_text(f"[command]\nargv = {json.dumps(mouth.argv)}\nlimit_s = 0.1\n{example}")
    return config


async def shown(watcher: WatcherProcess) -> str:
    """Return all that it shows and has logged."""
    faces = [(await watcher.ask(path))[1] for path in ("/v1/state", "/metrics", "/readyz")]
    return "".join([*faces, watcher.log])


async def test_server_and_program_are_told_when_a_notice_comes_and_goes(
    tmp_path: Path, run_dir: Path, mouth: Mouth
) -> None:
    """As the page has it, over TLS, and the secret in the URL is seen by the server alone."""
    context, authority = certified(tmp_path)
    async with hooked(f"/services/{CANARY}", context) as hook:
        options = ("--cloud=auto", f"--config={settings(tmp_path, mouth, hook.url)}")
        where = ("http://127.0.0.1:9", *options)
        trusted = {"SSL_CERT_FILE": str(authority)}
        async with daemon_process(run_dir, *where, **trusted) as watcher:
            mouth.say('{"id": "a", "window_s": 100, "action": "reclaim"}')
            await watcher.shows("stop")
            await eventually(lambda: len(hook.posted) == 1)
            mouth.say('{"id": "a", "withdrawn": true}')
            await eventually(lambda: watcher.flag() is None)
            await eventually(lambda: len(hook.posted) == 2)
            ran = tmp_path / "ran"
            await eventually(lambda: ran.exists() and ran.read_text().count("\n") == 2)
            assert ran.read_text().splitlines() == [
                "--page in_force preemption",
                "--page withdrawn preemption",
            ]
            texts = [posted.json["text"] for posted in hook.posted]
            assert texts[0].startswith("node-a: preemption notice, the training on it stops;")
            assert texts[1] == "node-a: preemption notice withdrawn (command: reclaim)"
            await eventually(lambda: watcher.log.count("news told action=webhook") == 2)
            assert CANARY not in await shown(watcher)


async def test_flag_is_written_and_the_daemon_ends_when_the_server_hangs(
    tmp_path: Path, run_dir: Path, mouth: Mouth
) -> None:
    """For every notice, and nobody waits for the server, not even at the end."""
    async with hooked() as hook:
        hook.answers += [HANG] * 100
        options = ("--cloud=auto", f"--config={settings(tmp_path, mouth, hook.url)}")
        async with daemon_process(run_dir, "http://127.0.0.1:9", *options) as watcher:
            for number in range(3):
                mouth.say(f'{{"id": "n{number}", "window_s": {100 - 10 * number}}}')
                await eventually(lambda: (watcher.flag() or {}).get("id") == f"command-n{number}")  # noqa: B023 - awaited here
            await eventually(lambda: hook.posted)
            await eventually(lambda: watcher.log.count("action done action=webhook") == 3)
