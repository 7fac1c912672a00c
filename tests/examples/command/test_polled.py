"""The worked examples that are polled, against stand-ins for what they ask."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from tests.support.clocks import START
from watcher.notice import Notice, NoticeKind
from watcher.sources.notice_line import Unsaid, parse_line

EXAMPLES = Path(__file__).parents[3] / "examples" / "command"
LEFT_S = 90
GRANTED = "AQAE"


async def run(name: str, **environment: str) -> tuple[int, str, str]:
    """Run an example to its end: its status, its words and its complaints."""
    process = await asyncio.create_subprocess_exec(
        str(EXAMPLES / name),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "HTTP_PROXY": "http://127.0.0.1:9", **environment},
    )
    said, complained = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode(), complained.decode()


def read(line: str) -> Notice:
    """Read what an example has printed as the daemon does."""
    return parse_line(line.encode(), START, Unsaid("command", NoticeKind.PREEMPTION))


class TestMithril:
    """A file that comes and goes."""

    @pytest.mark.parametrize("quote", ["", '"', "'"])
    @pytest.mark.parametrize("status", ["STATUS_PREEMPTING", "STATUS_RELOCATING"])
    async def test_file_is_a_notice_when_it_says_so(
        self, tmp_path: Path, quote: str, status: str
    ) -> None:
        """Its end is the deadline."""
        file = tmp_path / "MITHRIL_SIGNAL.yml"
        file.write_text(
            f"bid_status: x\ninstance_status: {quote}{status}{quote}\n"
            f"end_time: {quote}2026-11-30T10:09:06Z{quote}\n"
        )
        code, said, _ = await run("mithril.sh", MITHRIL_SIGNAL=str(file))
        notice = read(said)
        assert (code, notice.action, notice.detail) == (0, status, {})
        assert notice.deadline is not None
        assert notice.deadline.left_s(START) == 240

    async def test_there_is_none_when_the_file_is_gone(self, tmp_path: Path) -> None:
        """The bid has its instance back; a directory that is not there is no such word."""
        code, said, _ = await run("mithril.sh", MITHRIL_SIGNAL=str(tmp_path / "x.yml"))
        assert (code, said) == (1, "")
        code, said, why = await run("mithril.sh", MITHRIL_SIGNAL=str(tmp_path / "no" / "x.yml"))
        assert (code, said) == (2, "")
        assert "Mithril" in why

    @pytest.mark.parametrize("words", ["", "instance_st", "instance_status: STATUS_RUNNING\n"])
    async def test_it_is_unknown_when_the_file_says_something_else(
        self, tmp_path: Path, words: str
    ) -> None:
        """It may be half written."""
        file = tmp_path / "MITHRIL_SIGNAL.yml"
        file.write_text(words)
        assert (await run("mithril.sh", MITHRIL_SIGNAL=str(file)))[0] == 2


SCONTROL = """\
#!/bin/sh
case "$*" in
  listpids) {listpids} ;;
  "--oneliner show job "*)
    test "$SLURM_TIME_FORMAT" = %s || exit 9
    for id; do :; done
    eval "end=\\$END_$id"
    test -n "$end" || exit 1
    echo "JobId=$id JobName=train UserId=a(1000) JobState=RUNNING StartTime=1 EndTime=$end" \\
      "Deadline=N/A PreemptEligibleTime=1 PreemptTime=None NodeList=n1" ;;
  *) exit 9 ;;
esac
"""
JOBS = "printf 'PID JOBID STEPID LOCALID GLOBALID\\n7 11 0 0 0\\n8 11 0 1 1\\n9 12 0 0 0\\n'"


class TestSlurm:
    """Jobs that end soon, by a stand-in for scontrol."""

    @staticmethod
    async def ask(tmp_path: Path, listpids: str, **ends: str) -> tuple[int, str, str]:
        """Run the example with a scontrol that answers so."""
        scontrol = tmp_path / "scontrol"
        scontrol.write_text(SCONTROL.format(listpids=listpids))
        scontrol.chmod(0o755)
        return await run("slurm.sh", PATH=f"{tmp_path}:{os.environ['PATH']}", **ends)

    async def test_job_is_a_notice_when_it_ends_soon(self, tmp_path: Path) -> None:
        """The first of those on this node; its end is the deadline."""
        soon = int(time.time()) + LEFT_S
        ends = {"END_11": str(soon + 5), "END_12": str(soon)}
        code, said, _ = await self.ask(tmp_path, JOBS, **ends)
        assert code == 0
        document = json.loads(said)
        assert document["id"] == "job-12"
        assert datetime.fromisoformat(document["deadline"]) == datetime.fromtimestamp(soon, UTC)

    async def test_there_is_none_when_every_job_has_time(self, tmp_path: Path) -> None:
        """Or none runs here, or it has no limit."""
        late = str(int(time.time()) + 9999)
        code, said, _ = await self.ask(tmp_path, JOBS, END_11=late, END_12="Unknown")
        assert (code, said) == (1, "")
        none = "echo 'No job steps exist on this node.' >&2; exit 1"
        assert (await self.ask(tmp_path, none))[0] == 1

    async def test_it_is_unknown_when_slurm_does_not_answer(self, tmp_path: Path) -> None:
        """From the node, or from the controller about one of its jobs."""
        code, _, why = await self.ask(tmp_path, "echo 'slurmd: connection refused' >&2; exit 1")
        assert (code, "refused" in why) == (2, True)
        assert (await self.ask(tmp_path, JOBS, END_11=str(int(time.time()))))[0] == 2


class TestAlibaba:
    """The metadata service, by a stand-in on loopback."""

    @pytest.fixture
    async def service(self) -> AsyncIterator[dict[str, object]]:
        """Serve what the test says: by path, a status or a text."""
        answers: dict[str, object] = {"token": GRANTED, "termination-time": 404}
        answers["instance-id"] = "i-bp1x"

        async def answer(request: web.Request) -> web.Response:
            name = request.path.rpartition("/")[2]
            token = request.headers.get("X-aliyun-ecs-metadata-token")
            if name != "token" and answers["token"] == GRANTED != token:
                return web.Response(status=403)
            what = answers.get(name, 404)
            if isinstance(what, int):
                return web.Response(status=what)
            return web.Response(text=str(what))

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        answers["url"] = "http://{}:{}".format(*runner.addresses[0][:2])
        yield answers
        await runner.cleanup()

    @pytest.mark.parametrize("token", [GRANTED, 404])
    async def test_time_is_a_notice_when_the_service_says_one(
        self, service: dict[str, object], token: object
    ) -> None:
        """With a token, or without one where there is none."""
        service |= {"token": token, "termination-time": "2026-11-30T10:09:06Z"}
        code, said, _ = await run("alibaba.py", ALIBABA_METADATA=str(service["url"]))
        notice = read(said)
        assert (code, notice.instance_id, notice.action) == (0, "i-bp1x", "release")
        assert notice.deadline is not None
        assert notice.deadline.left_s(START) == 240

    async def test_there_is_none_when_the_service_has_no_such_item(
        self, service: dict[str, object]
    ) -> None:
        """404, from a service that knows the instance."""
        assert (await run("alibaba.py", ALIBABA_METADATA=str(service["url"])))[0] == 1

    @pytest.mark.parametrize(
        "answers",
        [{"instance-id": 404}, {"instance-id": "<html>"}, {"termination-time": 503}],
        ids=["another server", "a portal", "a failure"],
    )
    async def test_it_is_unknown_when_the_answer_is_another(
        self, service: dict[str, object], answers: dict[str, object]
    ) -> None:
        """Python's own status for a crash would have been "none"."""
        service |= answers
        code, said, why = await run("alibaba.py", ALIBABA_METADATA=str(service["url"]))
        assert (code, said) == (2, "")
        assert why != ""

    async def test_it_is_unknown_when_nobody_answers(self, unused_tcp_port: int) -> None:
        """A network that is not up yet."""
        url = f"http://127.0.0.1:{unused_tcp_port}"
        assert (await run("alibaba.py", ALIBABA_METADATA=url))[0] == 2
