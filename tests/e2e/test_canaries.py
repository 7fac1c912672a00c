"""Secrets of every kind, given to a real daemon: none is on a face, in a log or in a file of it."""

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.fakes.kube.access import Subject
from tests.fakes.kube.server import fake_api_server
from tests.support.clocks import eventually
from tests.support.hooked import RESET, answer, hooked
from tests.support.scripted_imds import ScriptedImds, scripted_imds
from tests.support.watcher_process import daemon_process

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

NODE = "node-a"
SPOT = '{"action": "terminate", "time": "2099-01-01T00:00:00Z"}'
FACES = ("/", "/v1/state", "/metrics", "/healthz", "/readyz", "/v1/notice", "/nothing")
COMMANDS = (("status", "--json"), ("status",), ("doctor", "--json"), ("check-config", "--json"))


def canary(name: str) -> str:
    """Return a secret that says which it is."""
    return f"canary{name}0123456789abcdef"


KUBE, HEADER, PATH, KEY, CLOUD = map(canary, ("kube", "header", "path", "key", "cloud"))


async def said_by(command: Iterable[str], environment: dict[str, str]) -> str:
    """Return all that a command says."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "watcher", *command),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
    )
    printed, _ = await process.communicate()
    return printed.decode()


def settings(directory: Path, url: str) -> dict[str, str]:
    """Put the secrets where they belong, and return the settings that name the places."""
    secrets = {"token": KUBE, "header": f"Bearer {HEADER}", "key": KEY}
    for name, secret in secrets.items():
        (directory / name).write_text(secret)
    return {
        "REPRIEVE_LOG_LEVEL": "debug",
        "REPRIEVE_NODE": NODE,
        "REPRIEVE_KUBERNETES_URL": url,
        "REPRIEVE_KUBERNETES_TOKEN_FILE": str(directory / "token"),
        "REPRIEVE_WEBHOOK_URL_FILE": str(directory / "url"),
        "REPRIEVE_WEBHOOK_HEADER_FILES": f"Authorization={directory / 'header'}",
        "REPRIEVE_WEBHOOK_PRESET": "pagerduty",
        "REPRIEVE_WEBHOOK_KEY_FILE": str(directory / "key"),
        "AWS_ACCESS_KEY_ID": "AKIA0123456789",
        "AWS_SECRET_ACCESS_KEY": CLOUD,
        "AWS_SESSION_TOKEN": CLOUD,
    }


async def all_said(run_dir: Path, imds: ScriptedImds, given: dict[str, str]) -> dict[str, str]:
    """Run a daemon through a notice, and return everything that it has said, by where."""
    said: dict[str, str] = {}
    async with daemon_process(run_dir, imds.url, **given) as watcher:
        async with asyncio.timeout(100):  # the webhook pauses between its attempts
            while "news told" not in watcher.log or watcher.flag() is None:  # noqa: ASYNC110 - another process's state has no event
                await asyncio.sleep(0.1)
        for path in FACES:
            said[path] = (await watcher.ask(path))[1]
        listen = (await watcher.ask("/healthz"), watcher.log)[1].split("ready listen=http://")[-1]
        environment = (
            os.environ
            | given
            | {
                "REPRIEVE_FACES_LISTEN": listen.split()[0],
                "REPRIEVE_RUN_DIR": str(run_dir),
                "AWS_EC2_METADATA_SERVICE_ENDPOINT": imds.url,
                "REPRIEVE_CLOUD": "aws",
            }
        )
        for command in COMMANDS:
            said[" ".join(command)] = await said_by(command, environment)
        for file in await asyncio.to_thread(lambda: list(run_dir.rglob("*"))):
            if await asyncio.to_thread(file.is_file):
                said[file.name] = await asyncio.to_thread(file.read_text)
        said["log"] = watcher.log
    return said


async def test_no_secret_is_said_anywhere_when_a_notice_comes_and_everything_fails_first(
    tmp_path: Path,
) -> None:
    """The webhook is refused before it is told, and the cluster forbids all that is asked."""
    run_dir = tmp_path / "run"
    await asyncio.to_thread((run_dir / "trainers").mkdir, parents=True)
    async with hooked(f"/{PATH}") as hook, scripted_imds() as imds, fake_api_server() as server:
        server.cluster.add_node(NODE)
        server.access.subjects[KUBE] = Subject("nobody", ())
        hook.answers += [RESET, answer(500, body=f"{PATH} {KEY} {HEADER}")]
        given = await asyncio.to_thread(settings, tmp_path, server.url)
        await asyncio.to_thread((tmp_path / "url").write_text, hook.url)
        imds.play("spot/instance-action", imds.json(SPOT))
        said = await all_said(run_dir, imds, given)
        await eventually(lambda: server.access.calls)
        posted = hook.posted[-1]
    # They were used, so they could have been said.
    assert posted.headers["Authorization"] == f"Bearer {HEADER}"
    assert json.loads(posted.body)["routing_key"] == KEY
    assert PATH in posted.line
    assert {call.subject for call in server.access.calls} == {"nobody"}
    assert imds.tokens
    assert {"notice.json", "log", "/", "doctor --json"} <= said.keys()
    assert all("node-a" in said[where] for where in ("/", "/v1/state", "notice.json", "log"))
    secrets = (KUBE, HEADER, PATH, KEY, CLOUD, *imds.tokens)
    assert [(one, where) for where, text in said.items() for one in secrets if one in text] == []
