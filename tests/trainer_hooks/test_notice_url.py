"""Asking a watcher over HTTP: whom, what an answer means, and what is none."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.flags import GOLDEN
from tests.support.golden_flag import Clocks
from tests.support.odd_server import (
    OddServer,
    Reaction,
    answering,
    holding,
    odd_server,
    resetting,
    sending,
    trickling,
)
from trainer_hooks import notice_url as asking
from trainer_hooks.errors import ConfigError, FlagError, NoticeUnknownError
from trainer_hooks.flag import StopNotice
from trainer_hooks.notice_url import MAX_ANSWER_BYTES, VARIABLE, NoticeUrl, Told, ask, notice_url

ANSWER = GOLDEN.with_name("notice_answer_v1.json")
NO_NOTICE = GOLDEN.with_name("no_notice_answer_v1.json")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OddServer]:
    """A server that the environment names."""
    with odd_server() as server:
        monkeypatch.setenv(VARIABLE, server.url)
        yield server


def asked(after: int | None = None) -> Told:
    """Ask whom the environment names."""
    url = notice_url()
    assert url is not None
    return ask(url, after, 0.0)


def changed(path: Path, **changes: object) -> bytes:
    """Return a golden answer with changes."""
    return json.dumps(json.loads(path.read_bytes()) | changes).encode()


@pytest.mark.parametrize(
    ("text", "host", "port", "path"),
    [
        ("http://10.0.0.1:9766", "10.0.0.1", 9766, "/v1/notice"),
        ("http://10.0.0.1:9766/", "10.0.0.1", 9766, "/v1/notice"),
        ("http://[fd00::7]:9766", "fd00::7", 9766, "/v1/notice"),
        ("http://node.internal", "node.internal", 80, "/v1/notice"),
        ("http://localhost:9766/behind/notice", "localhost", 9766, "/behind/notice"),
    ],
)
def test_url_names_host_port_and_path_when_it_is_one(
    monkeypatch: pytest.MonkeyPatch, text: str, host: str, port: int, path: str
) -> None:
    """The path is the watcher's own unless it says another."""
    monkeypatch.setenv(VARIABLE, text)
    assert notice_url() == NoticeUrl(host, port, path)


@pytest.mark.parametrize("text", [None, ""])
def test_nobody_is_asked_when_no_url_is_set(
    monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """An empty variable is what a manifest has that passes on nothing."""
    monkeypatch.delenv(VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(VARIABLE, text)
    assert notice_url() is None


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1:9766",
        "https://10.0.0.1:9766",
        "http://:9766",
        "http://fd00::7:9766",
        "http://",
        "http://10.0.0.1:0",
        "http://10.0.0.1:99999",
        "http://u@10.0.0.1:1",
        "http://a:1/x?y=1",
        "http://a b:1",
        "http://a:1/\r\nX: y",
        "http://[::1",
        "http://a:1/#x",
        "\x7f" * 300,
    ],
)
def test_url_is_refused_when_it_can_not_be_asked(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """A start that would never hear anything is a set-up that is wrong."""
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ConfigError, match=r"has to be like http://10\.0\.0\.1:9766") as caught:
        notice_url()
    assert len(str(caught.value)) < 1500


def test_answer_is_the_flags_notice_when_it_is_the_golden_one(
    server: OddServer, clocks: Clocks
) -> None:
    """What the watcher's side pins is what this side understands, byte for byte."""
    del clocks  # they are those of the golden file
    server.react = answering(ANSWER.read_bytes())
    told = asked(after=7)
    assert told.seq == 5_001_252
    assert told.notice() == StopNotice(
        id="aws-spot-terminate-2026-11-30T10:07:06Z-i-0123456789abcdef0",
        is_stop=True,
        deadline_s=pytest.approx(5121.0),  # type: ignore[arg-type]  # compares equal to a float
        source="url:aws_imds",
    )
    request, port = server.requests[0], server.url.rpartition(":")[2]
    assert request.startswith(f"GET /v1/notice?wait=0&after=7 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r")


def test_answer_is_that_nothing_is_in_force_when_it_is_the_other_golden_one(
    server: OddServer,
) -> None:
    """A positive word, and no missing one."""
    server.react = answering(NO_NOTICE.read_bytes())
    told = asked()
    assert (told.seq, told.notice()) == (5_001_252, None)
    assert "after" not in server.requests[0]


def test_no_proxy_is_asked_when_the_environment_has_one(
    server: OddServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a cluster sets for all its pods does not lead to the node."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.react = answering(NO_NOTICE.read_bytes())
    assert asked().notice() is None


def test_notice_is_in_force_by_the_wall_clock_when_the_watcher_sees_another_boot(
    server: OddServer, clocks: Clocks
) -> None:
    """A machine within the node's machine has a boot id, and a boottime, of its own."""
    clocks.boot_id = "00000000-0000-4000-8000-000000000000"
    flag = json.loads(GOLDEN.read_bytes()) | {"deadline_boottime_s": 5010.0}
    server.react = answering(changed(ANSWER, notice=flag))
    for boottime in (clocks.boottime, 77.0):  # also where the two clocks show the same by chance
        clocks.boottime = boottime
        notice = asked().notice()
        assert notice is not None
        assert notice.deadline_s == pytest.approx(boottime + 118.748)


@pytest.mark.parametrize("flag", [{}, {"schema": 2}, {"schema": 1, "urgency": "soon"}])
@pytest.mark.parametrize("schema", [1, 2])
def test_notice_is_an_error_when_it_can_not_be_understood(
    server: OddServer, flag: dict[str, object], schema: int
) -> None:
    """That there is one is said: as with the file, unknown is not clear."""
    server.react = answering(changed(ANSWER, notice=flag, schema=schema))
    with pytest.raises(FlagError):
        asked().notice()


@pytest.mark.parametrize("seq", [None, "1", 1.5, True, -1, 10**18, []])
def test_answer_counts_when_its_number_does_not(server: OddServer, seq: object) -> None:
    """Nobody can wait beyond it then."""
    server.react = answering(changed(NO_NOTICE, seq=seq))
    assert (asked().seq, asked().notice()) == (None, None)


WHOLE = b"HTTP/1.1 200 OK\r\n\r\n" + NO_NOTICE.read_bytes()

NO_ANSWERS: dict[str, Reaction] = {
    "nothing": sending(b""),
    "reset": resetting,
    "hang": holding,
    "trickle": trickling,
    "no HTTP": sending(b"\x15\x03\x01\x00\x02\x02\x50"),
    "half a head": sending(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "half a body": sending(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b'{"schema": 1'),
    "half a chunk": sending(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{}"),
    "endless length": sending(b"HTTP/1.1 200 OK\r\nContent-Length: 9" + b"9" * 30 + b"\r\n\r\n{}"),
    "many headers": sending(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2000 + b"\r\n{}"),
    "huge": sending(WHOLE + b" " * MAX_ANSWER_BYTES),
    "redirect": sending(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"),
    "503": answering(b"unknown: aws_imds has not answered yet\n", "503 Service Unavailable"),
    "404 with an answer": answering(NO_NOTICE.read_bytes(), "404 Not Found"),
    "empty": answering(b""),
    "page": answering(b"<html>\x1b[2Jwelcome</html>"),
    "list": answering(b"[]"),
    "deep": answering(b'{"schema": 1, "seq": 1, "notice": null, "x": ' + b"[" * 30_000),
    "no notice": answering(b'{"schema": 1, "seq": 1}'),
    "a text": answering(changed(NO_NOTICE, notice="closed on Monday")),
    "a later schema": answering(changed(NO_NOTICE, schema=2)),
    "no schema": answering(b'{"notice": null}'),
    "not UTF-8": answering(b"\xff" + NO_NOTICE.read_bytes()),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_what_is_in_force_is_unknown_when_there_is_no_answer(
    server: OddServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a notice nor that there is none, whatever has come; and in one printable line."""
    if name in ("hang", "trickle"):
        monkeypatch.setattr(asking, "SLACK_S", 0.2)
    server.react = NO_ANSWERS[name]
    with pytest.raises(NoticeUnknownError, match=server.url) as caught:
        asked()
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


def test_what_is_in_force_is_unknown_when_nobody_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A watcher that is being replaced, say."""
    with odd_server() as server:
        monkeypatch.setenv(VARIABLE, server.url)
    with pytest.raises(NoticeUnknownError, match="refused"):
        asked()


def test_what_is_in_force_is_unknown_when_the_name_leads_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also a name that no resolver takes."""
    monkeypatch.setenv(VARIABLE, "http://" + "x" * 70 + ".invalid:9766")
    with pytest.raises(NoticeUnknownError):
        asked()


@pytest.mark.parametrize(("passed_s", "is_overdue"), [(718, False), (719, True)])
def test_notice_is_judged_anew_when_time_has_passed(
    server: OddServer, clocks: Clocks, passed_s: float, *, is_overdue: bool
) -> None:
    """By the clocks of the moment in which somebody looks."""
    server.react = answering(ANSWER.read_bytes())
    told = asked()
    clocks.turn(passed_s)
    notice = told.notice()
    assert notice is not None
    assert notice.is_overdue is is_overdue
