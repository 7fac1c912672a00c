"""The IMDSv2 token: minted once, renewed in time, replaced when refused, never believed blindly."""

import pytest

from tests.support.scripted_imds import TOKEN_HEADER, TOKEN_PATH, TTL_HEADER, ScriptedImds
from watcher.errors import SourceError, SourceMalformed, SourceThrottled, SourceUnavailable
from watcher.httpclient import HttpClient
from watcher.sources.aws_session import ImdsSession

KEY = "/latest/meta-data/instance-id"


class Seconds:
    """The session's clock."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_session_mints_once_when_polled_often(imds: ScriptedImds) -> None:
    """A token is reused, and asked for with the longest life EC2 grants."""
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds())
        statuses = {(await session.get(KEY)).status for _ in range(20)}
    assert statuses == {404}
    assert imds.count(TOKEN_PATH) == 1
    assert imds.headers[0][TTL_HEADER] == "21600"
    assert TOKEN_HEADER not in imds.headers[0]


async def test_session_replaces_the_token_once_when_it_is_refused(imds: ScriptedImds) -> None:
    """A stale token costs one more request, not the poll; the retry carries only the new one."""
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds())
        await session.get(KEY)
        imds.tokens.clear()
        assert (await session.get(KEY)).status == 404
    assert [method for method, _ in imds.requests] == ["PUT", "GET", "GET", "PUT", "GET"]
    assert {imds.headers[-1][TOKEN_HEADER]} == imds.tokens


async def test_session_drops_the_refused_token_when_no_other_is_to_be_had(
    imds: ScriptedImds,
) -> None:
    """A dead token is not shown to EC2 again, poll after poll."""
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds())
        await session.get(KEY)
        imds.tokens.clear()
        imds.play(TOKEN_PATH, imds.status(500))
        for _ in range(3):
            with pytest.raises(SourceUnavailable):
                await session.get(KEY)
    assert imds.count(KEY) == 2
    assert not session.has_token


async def test_session_knows_nothing_when_the_new_token_is_refused_too(
    imds: ScriptedImds,
) -> None:
    """A storm of 401 is an unknown each time, and stays at two GETs and one PUT a poll."""
    imds.play(KEY, imds.status(401))
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds())
        for _ in range(3):
            with pytest.raises(SourceUnavailable) as caught:
                await session.get(KEY)
            assert caught.value.outcome == "unauthorized"
        imds.play(KEY, imds.status(200, b"i-1"))
        assert (await session.get(KEY)).body == b"i-1"
    assert imds.count(KEY) == 3 * 2 + 1
    assert imds.count(TOKEN_PATH) <= 4


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (403, "forbidden"),
        (429, "throttled"),
        (503, "throttled"),
        (500, "server_error"),
        (502, "server_error"),
        (301, "redirect"),
        (307, "redirect"),
        (204, "unexpected_status"),
        (206, "unexpected_status"),
        (400, "unexpected_status"),
        (418, "unexpected_status"),
    ],
)
@pytest.mark.parametrize("path", [KEY, TOKEN_PATH])
async def test_session_knows_nothing_when_the_status_is_neither_yes_nor_no(
    imds: ScriptedImds, status: int, outcome: str, path: str
) -> None:
    """Only 200 and 404 of a key say something; a token needs its 200."""
    imds.play(path, imds.status(status))
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceUnavailable) as caught:
            await ImdsSession(client, Seconds()).get(KEY)
    assert caught.value.outcome == outcome
    assert isinstance(caught.value, SourceThrottled) == (status in (429, 503))


async def test_session_knows_nothing_when_there_is_no_token_path(imds: ScriptedImds) -> None:
    """A 404 for the token must not be taken for "no notice"."""
    imds.play(TOKEN_PATH, imds.status(404))
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceUnavailable):
            await ImdsSession(client, Seconds()).get(KEY)
    assert imds.count(KEY) == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b"<html>Sign in</html>",
        b"two words",
        b"a\r\nX-Injected: 1",
        b"\xff" * 8,
        b"x" * 2000,
    ],
    ids=range(7),
)
async def test_session_takes_no_token_when_the_body_is_none(
    imds: ScriptedImds, body: bytes
) -> None:
    """What comes back is sent as a header, so it has to look like a token."""
    imds.play(TOKEN_PATH, imds.status(200, body))
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceMalformed):
            await ImdsSession(client, Seconds()).get(KEY)
    assert imds.count(KEY) == 0


async def test_session_names_the_hop_limit_when_the_token_never_comes(imds: ScriptedImds) -> None:
    """The one failure that looks like nothing gets its usual cause in the message."""
    imds.play(TOKEN_PATH, imds.fault("hang"))
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceUnavailable, match="hop limit 1") as caught:
            await ImdsSession(client, Seconds()).get(KEY)
    assert caught.value.outcome == "timeout"


async def test_session_renews_ahead_of_the_end_when_asked_to(imds: ScriptedImds) -> None:
    """Not before the last tenth of a short life, and then without a refused request."""
    imds.token_ttl_s = 100
    clock = Seconds()
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, clock)
        await session.get(KEY)
        clock.now += 89
        await session.renew()
        assert imds.count(TOKEN_PATH) == 1
        clock.now += 2
        await session.renew()
        assert imds.count(TOKEN_PATH) == 2


async def test_session_renews_late_when_the_life_is_long(imds: ScriptedImds) -> None:
    """A token of six hours is not replaced half an hour early."""
    clock = Seconds()
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, clock)
        await session.get(KEY)
        clock.now += 21_600 - 61
        await session.renew()
        assert imds.count(TOKEN_PATH) == 1
        clock.now += 2
        await session.renew()
        assert imds.count(TOKEN_PATH) == 2


async def test_session_believes_the_echo_when_the_life_shortens(imds: ScriptedImds) -> None:
    """Every answer says how long the token has left; the latest word counts."""
    imds.play(KEY, imds.status(404, b"", **{TTL_HEADER: "5"}))
    clock = Seconds()
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, clock)
        await session.get(KEY)
        assert session.has_token
        clock.now += 6
        assert not session.has_token
        await session.get(KEY)
    assert imds.count(TOKEN_PATH) == 2


@pytest.mark.parametrize("echo", ["", "soon", "-1", "1e3", "21601", "9" * 4000, "٣"])
async def test_session_ignores_the_echo_when_it_is_unreadable(
    imds: ScriptedImds, echo: str
) -> None:
    """Then the token lives as long as was last known."""
    imds.play(KEY, imds.status(404, b"", **{TTL_HEADER: echo}))
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds())
        await session.get(KEY)
        assert session.has_token
        await session.get(KEY)
    assert imds.count(TOKEN_PATH) == 1


async def test_session_keeps_the_token_when_its_renewal_fails(imds: ScriptedImds) -> None:
    """A token that still lives is used to its end; only then is the source blind."""
    imds.token_ttl_s = 100
    clock = Seconds()
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, clock)
        await session.get(KEY)
        imds.play(TOKEN_PATH, imds.status(503))
        clock.now += 95
        await session.renew()
        assert (await session.get(KEY)).status == 404
        clock.now += 6
        with pytest.raises(SourceError):
            await session.get(KEY)
