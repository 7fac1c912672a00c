"""Drills through the daemon's socket: who may begin one, and when it is over."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from tests.support.standings import admitted, in_force
from tests.support.trainer_words import say
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind
from watcher.sources import drill_socket
from watcher.sources.drill import NAME, ROAD, Drills, opened
from watcher.sources.drill_config import DrillConfig
from watcher.sources.drill_socket import LINE_LIMIT_BYTES
from watcher.sources.road import Site
from watcher.state import State
from watcher.supervise import keep_running

BOOT = "boot-1"
ASK = b'{"ask": "drill", "window_s": 60}\n'

CLIENT = """\
import os, socket, sys
uid, path = int(sys.argv[1]), sys.argv[2]
if uid:
    os.setgroups([]), os.setgid(uid), os.setuid(uid)
end = socket.socket(socket.AF_UNIX)
end.connect(path)
end.sendall(sys.argv[3].encode() + b"\\n")
print(end.makefile().readline(), end="")
"""


@asynccontextmanager
async def daemon(
    directory: Path, clock: TurnedClock, state: State
) -> AsyncIterator[tuple[Path, asyncio.Queue[Notice]]]:
    """Run the road as the daemon does; yield the socket and what is heard."""
    path = directory / "drill.sock"
    site = Site(Metrics(), clock, state, boot_id=BOOT, run_dir=directory)
    inbox: asyncio.Queue[Notice] = asyncio.Queue()
    async with opened(DrillConfig(socket=path), site) as road:
        tasks = [asyncio.create_task(keep_running(one, inbox, clock)) for one in road.sources]
        tasks += [asyncio.create_task(keep()) for keep in road.keepers]
        try:
            yield path, inbox
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def ask(path: Path, line: bytes) -> dict[str, object]:
    """Send a line, and return the answer."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(line)
    answer: dict[str, object] = json.loads(await reader.readline())
    writer.close()
    return answer


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests is taken for root."""
    monkeypatch.setattr(drill_socket, "ROOT", os.geteuid())


@pytest.mark.usefixtures("root")
async def test_drill_is_heard_when_root_asks(tmp_path: Path) -> None:
    """It is of a kind of its own, and has a deadline."""
    async with daemon(tmp_path, TurnedClock(), State()) as (path, inbox):
        answer = await ask(path, ASK)
        notice = await inbox.get()
    assert answer == {"begun": notice.id}
    assert (notice.kind, notice.source, notice.withdrawn) == (NoticeKind.DRILL, NAME, False)
    assert notice.deadline is not None
    assert notice.deadline.boottime_s == notice.received.boottime_s + 60


async def test_drill_is_refused_when_not_root_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the kernel's word, even where somebody has opened the socket to all."""
    monkeypatch.setattr(drill_socket, "ROOT", os.geteuid() + 1)
    async with daemon(tmp_path, TurnedClock(), State()) as (path, inbox):
        for line in (ASK, b'{"ask": "clear"}\n'):
            assert await ask(path, line) == {"refused": "only root may ask for a drill"}
        assert inbox.empty()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_another_user_is_refused_by_permission_and_by_credentials(tmp_path: Path) -> None:
    """A real process of user 65534: first it can't connect, then it is refused by its uid."""
    for above in (tmp_path, *tmp_path.parents[:2]):
        await asyncio.to_thread(above.chmod, 0o755)
    async with daemon(tmp_path, TurnedClock(), State()) as (path, inbox):

        def client(uid: int) -> "subprocess.CompletedProcess[str]":
            line = json.dumps({"ask": "drill"})
            argv = [sys.executable, "-c", CLIENT, str(uid), str(path), line]
            return subprocess.run(argv, capture_output=True, text=True, check=False)

        assert "PermissionError" in (await asyncio.to_thread(client, 65534)).stderr
        await asyncio.to_thread(path.chmod, 0o666)
        said = (await asyncio.to_thread(client, 65534)).stdout
        assert json.loads(said) == {"refused": "only root may ask for a drill"}
        assert inbox.empty()
        assert "begun" in json.loads((await asyncio.to_thread(client, 0)).stdout)


@pytest.mark.usefixtures("root")
async def test_drill_is_refused_when_there_is_another_or_a_real_notice(tmp_path: Path) -> None:
    """One at a time, and no exercise in earnest."""
    state, clock = State(), TurnedClock()
    async with daemon(tmp_path, clock, state) as (path, _):
        await ask(path, ASK)
        assert await ask(path, ASK) == {"refused": "a drill is in force already"}
        assert await ask(path, b'{"ask": "clear"}\n') == {"cleared": True}
        assert await ask(path, b'{"ask": "clear"}\n') == {"cleared": False}
        admitted(state, in_force(left_s=30))
        assert "no exercise" in str(await ask(path, ASK))


@pytest.mark.usefixtures("root")
async def test_drill_gives_way_when_a_real_notice_comes(tmp_path: Path) -> None:
    """The trainers' deadline is the real one from then on."""
    state, clock = State(), TurnedClock()
    async with daemon(tmp_path, clock, state) as (path, inbox):
        await ask(path, ASK)
        begun = await inbox.get()
        admitted(state, in_force(left_s=30))
        over = await inbox.get()
    assert (over.id, over.withdrawn, over.outcome) == (begun.id, True, "replaced")


@pytest.mark.usefixtures("root")
async def test_drill_is_over_when_its_time_is_up(tmp_path: Path) -> None:
    """Nobody has to remember it."""
    clock = TurnedClock()
    async with daemon(tmp_path, clock, State()) as (path, inbox):
        await ask(path, ASK)
        begun = await inbox.get()
        clock.turn(59)
        await asyncio.sleep(0)
        assert inbox.empty()
        clock.turn(2)
        over = await inbox.get()
    assert (over.id, over.withdrawn, over.outcome) == (begun.id, True, "over")


@pytest.mark.usefixtures("root")
async def test_drill_is_over_when_all_trainers_have_saved(tmp_path: Path) -> None:
    """They may start again: the node stays."""
    clock = TurnedClock()
    await asyncio.to_thread(say, tmp_path, clock, BOOT, a="running")
    async with daemon(tmp_path, clock, State()) as (path, inbox):
        await ask(path, ASK)
        await inbox.get()
        await asyncio.sleep(0.5)
        assert inbox.empty()
        await asyncio.to_thread(say, tmp_path, clock, BOOT, a="saved")
        over = await inbox.get()
    assert over.withdrawn


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"[]\n",
        b"{}\n",
        b"\xff\n",
        b"[" * (LINE_LIMIT_BYTES - 1) + b"\n",
        b"x" * (2 * LINE_LIMIT_BYTES) + b"\n",
        b'{"ask": "drill", "window_s": -1}\n',
        b'{"ask": "drill", "window_s": 1e999}\n',
        b'{"ask": "drill", "window_s": NaN}\n',
        b'{"ask": "drill", "window_s": true}\n',
        b'{"ask": "drill", "window_s": "60"}\n',
        b'{"ask": "drill", "window_s": 3601}\n',
    ],
)
async def test_question_is_refused_when_it_makes_no_sense(tmp_path: Path, line: bytes) -> None:
    """And the next one is answered."""
    async with daemon(tmp_path, TurnedClock(), State()) as (path, inbox):
        assert list(await ask(path, line)) == ["refused"]
        assert inbox.empty()
        assert "begun" in await ask(path, ASK)


@pytest.mark.usefixtures("root")
async def test_others_are_answered_when_one_says_nothing(tmp_path: Path) -> None:
    """A silent client holds no place for long, and nobody up."""
    async with daemon(tmp_path, TurnedClock(), State()) as (path, _):
        _, silent = await asyncio.open_unix_connection(str(path))
        assert "begun" in await ask(path, ASK)
        silent.close()


@pytest.mark.usefixtures("root")
async def test_socket_is_made_anew_when_a_killed_daemon_has_left_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And what is no socket is left alone."""
    path = tmp_path / "drill.sock"
    for _ in range(2):
        async with daemon(tmp_path, TurnedClock(), State()):
            mode = (await asyncio.to_thread(path.stat)).st_mode & 0o777
            await asyncio.to_thread(os.link, path, tmp_path / "kept")
        await asyncio.to_thread(os.rename, tmp_path / "kept", path)
        assert mode == 0o600
    await asyncio.to_thread(path.unlink)
    await asyncio.to_thread(path.write_text, "precious")
    site = Site(Metrics(), TurnedClock(), State(), boot_id=BOOT, run_dir=tmp_path)
    async with opened(DrillConfig(socket=path), site) as road:
        assert road.sources == ()  # the node is protected all the same
    assert "no drill can be asked for" in caplog.text
    assert await asyncio.to_thread(path.read_text) == "precious"


def test_socket_alone_is_nothing_to_hear_and_keeps_no_drill_over_a_restart() -> None:
    """A node that would hear nothing but drills does not start; and a flag of one is removed."""
    config = DrillConfig(socket=Path("/run/x"))
    assert ROAD.wanted(config) == {}
    assert ROAD.protects(config)
    assert not ROAD.protects(DrillConfig())
    assert Drills.kinds == {NoticeKind.DRILL}


async def test_nothing_listens_when_no_socket_is_set(tmp_path: Path) -> None:
    """The default."""
    site = Site(Metrics(), TurnedClock(), State(), run_dir=tmp_path)
    async with opened(DrillConfig(), site) as road:
        assert road.sources == ()
