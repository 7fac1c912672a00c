"""The worked example for Oracle Cloud, with a stand-in for its command line."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.support.clocks import START
from watcher.notice import NoticeKind
from watcher.sources.notice_line import Unsaid, parse_line

EXAMPLE = Path(__file__).parents[3] / "examples" / "command" / "oci.py"
MINE = "ocid1.instance.oc1.iad.mine"
EVENT = {
    "eventType": "com.oraclecloud.computeapi.instancepreemptionaction",
    "eventID": "e-1",
    "eventTime": "2026-11-30T10:05:00Z",
    "data": {"resourceId": MINE, "additionalDetails": {"preemptionAction": "TERMINATE"}},
}
OCI = """\
#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
case "$*" in
  *create-cursor*) echo '{"data": {"partition": "0", "value": "c0"}}' ;;
  *"message get"*"--cursor c0"*) cat "$here/first" ;;
  *) echo '{"data": [], "opc-next-cursor": "c9"}' ;;
esac
"""


@pytest.fixture
async def metadata() -> AsyncIterator[str]:
    """Serve the instance's own id, as version 2 of the service does."""

    async def answer(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != "Bearer Oracle":
            return web.Response(status=404)
        return web.json_response({"id": MINE})

    app = web.Application()
    app.router.add_get("/opc/v2/instance/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield "http://{}:{}".format(*runner.addresses[0][:2])
    await runner.cleanup()


def message(event: object) -> dict[str, str]:
    """Wrap an event as the stream does."""
    return {"key": "k", "value": base64.b64encode(json.dumps(event).encode()).decode()}


async def test_preemption_of_this_instance_is_a_notice_when_others_are_on_the_stream(
    tmp_path: Path, metadata: str
) -> None:
    """Other instances, other events and nonsense are passed over; the stream is followed on."""
    theirs = {**EVENT, "data": {"resourceId": "ocid1.instance.oc1.iad.theirs"}}
    messages = [
        *(message(one) for one in (theirs, {**EVENT, "eventType": "launch"}, "x", EVENT)),
        {"value": "?"},
    ]
    first = {"data": messages, "opc-next-cursor": "c1"}
    (tmp_path / "first").write_text(json.dumps(first))
    (tmp_path / "oci").write_text(OCI)
    (tmp_path / "oci").chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        *(str(EXAMPLE), "ocid1.stream", "https://cell"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "OCI_METADATA": metadata},
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        lines = [await process.stdout.readline() for _ in range(3)]
    process.kill()
    await process.wait()
    notice = parse_line(lines[0], START, Unsaid("command", NoticeKind.PREEMPTION))
    assert (notice.id, notice.instance_id, notice.action) == ("command-e-1", MINE, "TERMINATE")
    assert notice.deadline is not None
    assert notice.deadline.left_s(START) == 114
    assert lines[1:] == [b"\n", b"\n"], "each answer of the stream is a sign of life"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert all("--auth instance_principal streaming" in call for call in calls)
    assert "--type AT_TIME" in calls[0]
    assert "--cursor c1" in calls[2]
