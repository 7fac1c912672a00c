"""`status` asks over a real socket: its exit status, and what it prints where nobody answers."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.support.served_faces import ANY_PORT, served_faces
from tests.support.told_state import told_state
from watcher.cli import main
from watcher.config import Address

Status = Callable[..., Awaitable[tuple[int, str, str]]]


def _status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["status", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Status:
    """Run the command in a thread, and return exit status, output and complaint."""

    async def run(*arguments: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(_status, *arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@asynccontextmanager
async def _answering(
    body: str, *, code: int = 200, address: Address = ANY_PORT
) -> AsyncIterator[str]:
    """Serve this as /v1/state, and give host and port."""

    async def state(_request: web.Request) -> web.Response:
        return web.Response(text=body, status=code)

    async with served_faces({"/v1/state": state}, address) as faces:
        yield faces.url.removeprefix("http://")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"in_force": []}, 0),
        ({}, 75),
        ({"ready": False}, 75),
        ({"in_force": [], "ready": False}, 1),
    ],
    ids=["quiet", "in force", "in force and blind", "blind"],
)
async def test_exit_status_tells_whether_a_notice_is_in_force(
    status: Status, changes: dict[str, Any], code: int
) -> None:
    """Blind and quiet is not quiet."""
    async with _answering(json.dumps(told_state(**changes))) as listen:
        assert (await status("--listen", listen))[0] == code
        ended, out, _ = await status("--listen", listen, "--json")
    assert ended == code
    assert json.loads(out) == told_state(**changes)


async def test_table_is_printed_when_a_person_asks(status: Status) -> None:
    """The first line is the answer."""
    async with _answering(json.dumps(told_state())) as listen:
        _, out, err = await status("--listen", listen)
    assert out.startswith("node-a: a notice is in force, 1 min 52 s left\n")
    assert err == ""


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ("hello", 200, "no state of a daemon's"),
        ("nothing", 404, "HTTP 404"),
        ("x" * (4 * 1024 * 1024 + 1), 200, "larger than"),
        ('{"schema": 1, "\x1b[2J": 1}', 200, "no state of a daemon's"),
    ],
    ids=["not JSON", "another program", "too large", "escapes"],
)
async def test_exit_status_is_1_when_it_is_not_the_daemon_that_answers(
    status: Status, body: str, code: int, reason: str
) -> None:
    """One line that says that nothing is known, and what to do."""
    async with _answering(body, code=code) as listen:
        ended, out, err = await status("--listen", listen)
    assert (ended, out) == (1, "")
    assert err.startswith("reprieve-watcher: it is unknown whether a notice is in force: ")
    assert reason in err
    assert "--listen or --config say where" in err
    assert err.count("\n") == 1
    assert "\x1b" not in err


async def test_exit_status_is_1_when_nobody_answers(status: Status) -> None:
    """The usual case of a daemon that is not up."""
    ended, out, err = await status("--listen", "127.0.0.1:9")
    assert (ended, out) == (1, "")
    assert "GET http://127.0.0.1:9/v1/state: Cannot connect: Connection refused; " in err
    assert "is `reprieve-watcher run` up on this machine" in err


async def test_daemon_is_asked_on_loopback_when_it_listens_everywhere(status: Status) -> None:
    """The address in its settings is none that can be called."""
    everywhere = Address("0.0.0.0", 0)  # noqa: S104 - what is tested
    async with _answering(json.dumps(told_state()), address=everywhere) as listen:
        assert (await status("--listen", listen))[0] == 75


async def test_settings_are_refused_when_they_do_not_say_where_it_is(status: Status) -> None:
    """Any free port is none that a second program could know."""
    ended, out, err = await status("--listen", "127.0.0.1:0")
    assert (ended, out) == (78, "")
    assert "faces.listen has port 0" in err
