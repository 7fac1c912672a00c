"""The IMDSv2 token: minted once, renewed in time, replaced when refused, shared by sessions."""

import pytest

from tests.support.clocks import Seconds
from tests.support.scripted_imds import TOKEN_HEADER, TOKEN_PATH, TTL_HEADER, ScriptedImds
from watcher.errors import SourceError, SourceMalformed, SourceUnavailable
from watcher.httpclient import HttpClient
from watcher.sources import aws_diagnosis
from watcher.sources.aws_session import ImdsSession, TokenBox

KEY = "/latest/meta-data/instance-id"
SPOT_PATH = "/latest/meta-data/spot/instance-action"


async def test_session_mints_once_when_polled_often(imds: ScriptedImds) -> None:
    """A token is reused, and asked for with the longest life EC2 grants."""
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds(), TokenBox())
        statuses = {(await session.get(KEY)).status for _ in range(20)}
    assert statuses == {404}
    assert imds.count(TOKEN_PATH) == 1
    assert imds.headers[0][TTL_HEADER] == "21600"
    assert TOKEN_HEADER not in imds.headers[0]


async def test_session_replaces_the_token_once_when_it_is_refused(imds: ScriptedImds) -> None:
    """A stale token costs one more request, not the poll; the retry carries only the new one."""
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds(), TokenBox())
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
        session = ImdsSession(client, Seconds(), TokenBox())
        await session.get(KEY)
        imds.tokens.clear()
        imds.play(TOKEN_PATH, imds.status(500))
        for _ in range(3):
            with pytest.raises(SourceUnavailable):
                await session.get(KEY)
    assert imds.count(KEY) == 2
    assert session._live_token() is None


async def test_session_renews_ahead_of_the_end_when_asked_to(imds: ScriptedImds) -> None:
    """Not before the last tenth of a short life, and then without a refused request."""
    imds.token_ttl_s = 100
    clock = Seconds()
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, clock, TokenBox())
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
        session = ImdsSession(client, clock, TokenBox())
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
        session = ImdsSession(client, clock, TokenBox())
        await session.get(KEY)
        assert session._live_token()
        clock.now += 6
        assert session._live_token() is None
        await session.get(KEY)
    assert imds.count(TOKEN_PATH) == 2


UNREADABLE = [
    "",
    "soon",
    "-1",
    "1e3",
    "0",
    "21601",
    "000005",
    "00000" + "9" * 4500,
    "9" * 4000,
    "٣",
]


@pytest.mark.parametrize("echo", UNREADABLE, ids=range(len(UNREADABLE)))
async def test_session_ignores_the_echo_when_it_is_unreadable(
    imds: ScriptedImds, echo: str
) -> None:
    """Then the token lives as long as was last known."""
    imds.play(KEY, imds.status(404, b"", **{TTL_HEADER: echo}))
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds(), TokenBox())
        await session.get(KEY)
        assert session._live_token()
        await session.get(KEY)
    assert imds.count(TOKEN_PATH) == 1


@pytest.mark.parametrize("echo", UNREADABLE, ids=range(len(UNREADABLE)))
async def test_session_takes_no_token_when_nobody_says_how_long_it_lives(
    imds: ScriptedImds, echo: str
) -> None:
    """A stranger takes any PUT and has none of the keys; his 404 is no "no notice"."""
    imds.needs_token = False
    imds.play(TOKEN_PATH, imds.status(200, b"ok", **({TTL_HEADER: echo} if echo else {})))
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceMalformed) as caught:
            await ImdsSession(client, Seconds(), TokenBox()).get(SPOT_PATH)
    assert str(caught.value).endswith(aws_diagnosis.NOT_EC2)
    assert imds.count(SPOT_PATH) == 0


async def test_session_keeps_the_token_when_its_renewal_fails(imds: ScriptedImds) -> None:
    """A token that still lives is used to its end; only then is the source blind."""
    imds.token_ttl_s = 100
    clock = Seconds()
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, clock, TokenBox())
        await session.get(KEY)
        imds.play(TOKEN_PATH, imds.status(503))
        clock.now += 95
        await session.renew()
        assert (await session.get(KEY)).status == 404
        clock.now += 6
        with pytest.raises(SourceError):
            await session.get(KEY)


async def test_sessions_share_one_token_when_another_has_replaced_it(imds: ScriptedImds) -> None:
    """Whoever comes second with the refused token takes the new one and mints none."""
    tokens = TokenBox()
    async with HttpClient(imds.url) as one, HttpClient(imds.url) as other:
        first, second = (ImdsSession(client, Seconds(), tokens) for client in (one, other))
        await first.get(KEY)
        stale = tokens.token
        imds.tokens.clear()
        await first.get(KEY)
        assert stale is not None
        tokens.drop(stale)
        await second.get(KEY)
    assert imds.count(TOKEN_PATH) == 2
