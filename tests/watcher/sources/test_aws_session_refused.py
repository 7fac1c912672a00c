"""No IMDSv2 token is to be had, or it is refused: what is known then, and what is said of it."""

import pytest

from tests.support.clocks import Seconds
from tests.support.scripted_imds import TOKEN_HEADER, TOKEN_PATH, TTL_HEADER, ScriptedImds
from watcher.errors import SourceMalformed, SourceThrottled, SourceUnavailable
from watcher.httpclient import HttpClient
from watcher.sources import aws_diagnosis
from watcher.sources.aws_session import V1_LIFE_S, ImdsSession, TokenBox

KEY = "/latest/meta-data/instance-id"
SPOT_PATH = "/latest/meta-data/spot/instance-action"


async def test_session_knows_nothing_when_the_new_token_is_refused_too(
    imds: ScriptedImds,
) -> None:
    """A storm of 401 is an unknown each time, and stays at two GETs and one PUT a poll."""
    imds.play(KEY, imds.status(401))
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds(), TokenBox())
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
            await ImdsSession(client, Seconds(), TokenBox()).get(KEY)
    assert caught.value.outcome == outcome
    assert isinstance(caught.value, SourceThrottled) == (status in (429, 503))


async def test_session_knows_nothing_when_there_is_no_token_path(imds: ScriptedImds) -> None:
    """A stranger's 404 for the token must not make his 404 for a key a "no notice"."""
    imds.play(TOKEN_PATH, imds.status(404))
    imds.needs_token = False
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceUnavailable) as caught:
            await ImdsSession(client, Seconds(), TokenBox()).get(SPOT_PATH)
    assert str(caught.value).endswith(aws_diagnosis.NOT_EC2)
    assert imds.count(SPOT_PATH) == 0


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
    imds.play(TOKEN_PATH, imds.status(200, body, **{TTL_HEADER: "21600"}))
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceMalformed):
            await ImdsSession(client, Seconds(), TokenBox()).get(KEY)
    assert imds.count(KEY) == 0


async def test_session_names_the_hop_limit_when_the_token_never_comes(imds: ScriptedImds) -> None:
    """The one failure that looks like nothing gets its usual cause in the message."""
    imds.play(TOKEN_PATH, imds.fault("hang"))
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceUnavailable, match="hop limit 1") as caught:
            await ImdsSession(client, Seconds(), TokenBox()).get(KEY)
    assert caught.value.outcome == "timeout"


@pytest.mark.parametrize("status", [403, 404, 405])
async def test_session_goes_without_a_token_when_its_endpoint_says_there_is_none(
    imds: ScriptedImds, status: int
) -> None:
    """Once the server has shown that it is EC2's; the token is asked for again later."""
    imds.needs_token = False
    imds.play(TOKEN_PATH, imds.status(status))
    imds.play(KEY, imds.status(200, b"i-0123456789abcdef0"))
    clock = Seconds()
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, clock, TokenBox())
        for _ in range(5):
            assert (await session.get(SPOT_PATH)).status == 404
        assert (imds.count(TOKEN_PATH), imds.count(KEY)) == (1, 1)
        assert not any(TOKEN_HEADER in headers for headers in imds.headers)
        imds.needs_token = True
        imds.play(TOKEN_PATH, imds.status(200, b"AQAE==", **{TTL_HEADER: "21600"}))
        imds.tokens.add("AQAE==")
        clock.now += V1_LIFE_S
        assert (await session.get(SPOT_PATH)).status == 404
    assert imds.headers[-1][TOKEN_HEADER] == "AQAE=="


async def test_session_knows_nothing_when_tokens_are_demanded_again(imds: ScriptedImds) -> None:
    """A 401 without a token is as unknown as one with a token, never a "no notice"."""
    imds.needs_token = False
    imds.play(TOKEN_PATH, imds.status(404))
    imds.play(KEY, imds.status(200, b"i-0123456789abcdef0"))
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds(), TokenBox())
        await session.get(SPOT_PATH)
        imds.needs_token = True
        for _ in range(3):
            with pytest.raises(SourceUnavailable) as caught:
                await session.get(SPOT_PATH)
            assert str(caught.value).endswith(aws_diagnosis.TOKEN_REQUIRED)


@pytest.mark.parametrize(
    ("token_status", "key_status", "may_use_v1", "why"),
    [
        (403, 403, True, aws_diagnosis.SWITCHED_OFF),
        (403, 401, True, aws_diagnosis.FORWARDED),
        (404, 401, True, aws_diagnosis.TOKEN_REQUIRED),
        (405, 404, True, aws_diagnosis.NOT_EC2),
        (403, 403, False, aws_diagnosis.SWITCHED_OFF),
        (404, 200, False, aws_diagnosis.V1_FORBIDDEN),
    ],
)
async def test_session_says_what_to_do_when_there_is_no_token(
    imds: ScriptedImds, token_status: int, key_status: int, why: str, *, may_use_v1: bool
) -> None:
    """Two refusals together tell more than one; each cause has its own words."""
    imds.needs_token = False
    imds.play(TOKEN_PATH, imds.status(token_status))
    imds.play(KEY, imds.status(key_status, b"i-0123456789abcdef0"))
    async with HttpClient(imds.url) as client:
        session = ImdsSession(client, Seconds(), TokenBox(), may_use_v1=may_use_v1)
        with pytest.raises(SourceUnavailable) as caught:
            await session.get(SPOT_PATH)
    assert str(caught.value).endswith(why)
    assert imds.count(SPOT_PATH) == 0


async def test_session_names_the_firewall_when_nobody_is_there(unused_tcp_port: int) -> None:
    """Not the hop limit: there never was a connection."""
    async with HttpClient(f"http://127.0.0.1:{unused_tcp_port}") as client:
        with pytest.raises(SourceUnavailable) as caught:
            await ImdsSession(client, Seconds(), TokenBox()).get(KEY)
    assert str(caught.value).endswith(aws_diagnosis.UNREACHABLE)
