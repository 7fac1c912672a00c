"""Who is let in: tokens over HTTP, and the instance's metadata options."""

import asyncio

import pytest

from tests.support.simulated_aws import Simulator, TurnedClock
from watcher.simulator.aws.options import HttpEndpoint, HttpTokens, MetadataOptions
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.aws.tokens import MAX_TOKEN_TTL_S

TTL = "x-aws-ec2-metadata-token-ttl-seconds"
ACTION = "meta-data/spot/instance-action"


@pytest.mark.parametrize("ttl_s", ["1", "60", "21600"])
async def test_token_is_minted_when_ttl_is_in_range(simulator: Simulator, ttl_s: str) -> None:
    """The body is the token, opaque text, and the TTL comes back."""
    answer = await simulator.mint(ttl_s)
    assert (answer.status, answer.content_type, answer.headers[TTL]) == (200, "text/plain", ttl_s)
    assert answer.body.strip() == answer.body != ""


@pytest.mark.parametrize("ttl_s", ["0", "21601", "x", "-1", "", "6.0", "+5", "9" * 4500, "٣"])
async def test_token_is_refused_when_ttl_is_wrong(simulator: Simulator, ttl_s: str) -> None:
    """Anything but a whole number from 1 to 21600 is a bad request."""
    assert (await simulator.mint(ttl_s)).status == 400


async def test_token_is_refused_when_ttl_header_is_missing(simulator: Simulator) -> None:
    """The header is mandatory."""
    assert (await simulator.ask("PUT", "/latest/api/token")).status == 400


async def test_token_is_refused_when_path_is_versioned(simulator: Simulator) -> None:
    """Only `latest` mints; a dated version is forbidden."""
    answer = await simulator.ask("PUT", "/2021-03-23/api/token", {TTL: "60"})
    assert answer.status == 403


async def test_token_is_refused_when_forwarded(simulator: Simulator) -> None:
    """A request that came through a proxy is forbidden."""
    headers = {TTL: "60", "X-Forwarded-For": "203.0.113.9"}
    assert (await simulator.ask("PUT", "/latest/api/token", headers)).status == 403


async def test_token_path_answers_no_other_method(simulator: Simulator) -> None:
    """POST is not allowed, and GET is an ordinary path that needs a token."""
    assert (await simulator.ask("POST", "/latest/api/token", {TTL: "60"})).status == 405
    assert (await simulator.ask("GET", "/latest/api/token")).status == 401


@pytest.mark.parametrize("path", ["meta-data/instance-id", ACTION, "meta-data/", "nowhere"])
async def test_get_is_unauthorized_when_token_is_not_good(
    simulator: Simulator, clock: TurnedClock, path: str
) -> None:
    """No token, an unknown one and an expired one are all 401, whatever the path."""
    short = (await simulator.mint("1")).body
    clock.turn(1)
    for headers in ({}, {"X-aws-ec2-metadata-token": "AQA"}, {"X-aws-ec2-metadata-token": short}):
        answer = await simulator.ask("GET", "/latest/" + path, headers)
        assert answer.status == 401
        assert TTL not in answer.headers


async def test_answers_echo_the_ttl_that_is_left(simulator: Simulator, clock: TurnedClock) -> None:
    """Every authorized answer says how many seconds the token still has, a 404 too."""
    clock.turn(2.5)
    found, missing = await simulator.get("meta-data/instance-id"), await simulator.get(ACTION)
    assert (found.status, missing.status) == (200, 404)
    assert found.headers[TTL] == missing.headers[TTL] == str(MAX_TOKEN_TTL_S - 3)


class TestMetadataOptions:
    """Who is let in."""

    @pytest.fixture
    def scenario(self) -> AwsScenario:
        options = MetadataOptions(http_tokens=HttpTokens.OPTIONAL, hop_limit=2)
        return AwsScenario(options=options, hops=2)

    async def test_get_needs_no_token_when_tokens_are_optional(self, simulator: Simulator) -> None:
        """Version 1 gets the same answers, without a TTL; a bad token is still refused."""
        path = "/latest/meta-data/instance-id"
        found = await simulator.ask("GET", path)
        assert (found.status, found.body) == (200, "i-0123456789abcdef0")
        assert TTL not in found.headers
        bad = {"X-aws-ec2-metadata-token": "AQA"}
        assert (await simulator.ask("GET", path, bad)).status == 401
        assert (await simulator.ask("GET", f"/latest/{ACTION}")).status == 404
        await simulator.control("POST", "metadata_options", {"http_tokens": "required"})
        assert (await simulator.ask("GET", path)).status == 401

    async def test_everything_is_forbidden_when_the_endpoint_is_disabled(
        self, simulator: Simulator
    ) -> None:
        """403 for the token and for every item, a good token notwithstanding."""
        disabled = {"http_endpoint": HttpEndpoint.DISABLED}
        await simulator.control("POST", "metadata_options", disabled)
        assert (await simulator.mint()).status == 403
        assert (await simulator.get("meta-data/instance-id")).status == 403
        assert (await simulator.get("nowhere")).status == 403
        await simulator.control("POST", "metadata_options", {"http_endpoint": "enabled"})
        assert (await simulator.get("meta-data/instance-id")).status == 200

    async def test_token_never_arrives_when_the_client_is_too_many_hops_away(
        self, simulator: Simulator
    ) -> None:
        """The PUT hangs for ever, while a GET is answered."""
        await simulator.control("POST", "metadata_options", {"hop_limit": 1})
        minting = asyncio.create_task(simulator.mint())
        while [entry["status"] for entry in await simulator.requests()] != [200, None]:
            assert not minting.done()
        assert (await simulator.get("meta-data/instance-id")).status == 200
        assert not minting.done()
        minting.cancel()
        await simulator.control("POST", "metadata_options", {"hop_limit": 2})
        assert (await simulator.mint()).status == 200
