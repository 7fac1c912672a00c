"""What the metadata service answers to a handful of requests; the checks judge it afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from watcher.httpclient import Answer, HttpClient
from watcher.sources.aws_config import AwsConfig
from watcher.sources.aws_imds_spot import SPOT
from watcher.sources.aws_session import (
    INSTANCE_ID_PATH,
    TOKEN_HEADER,
    TOKEN_PATH,
    TTL_HEADER,
)
from watcher.sources.tried import Tried, ask

IDENTITY_PATH = "/latest/dynamic/instance-identity/document"
SPOT_PATH = "/latest/meta-data/" + SPOT

_TTL_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsEvidence:
    """The answers, and this machine's side of the conversation."""

    config: AwsConfig
    environment: Mapping[str, str]
    token: Tried
    """To the PUT for a token."""
    asked_at: datetime
    """When that was sent, by this machine's clock."""
    bare: Tried
    """To a GET of the instance's id without a token."""
    spot: Tried
    """To a GET of the Spot key, with the token if there is one."""
    identity: Tried
    """To a GET of the identity document, likewise."""

    def answers(self) -> list[Answer]:
        """Return every complete answer."""
        every = (self.token, self.bare, self.spot, self.identity)
        return [tried for tried in every if isinstance(tried, Answer)]


async def examine(
    config: AwsConfig, environment: Mapping[str, str], wall: Callable[[], datetime]
) -> AwsEvidence:
    """Ask the metadata service; takes no longer than four times the limit of a call."""
    async with HttpClient(config.metadata_endpoint, config.metadata_limit_s) as client:
        asked_at = wall()
        token = await ask(client, "PUT", TOKEN_PATH, {TTL_HEADER: str(_TTL_S)})
        headers = {}
        if isinstance(token, Answer) and token.status == 200:
            headers[TOKEN_HEADER] = token.body.decode("latin-1").strip()
        return AwsEvidence(
            config=config,
            environment=environment,
            token=token,
            asked_at=asked_at,
            bare=await ask(client, "GET", INSTANCE_ID_PATH, {}),
            spot=await ask(client, "GET", SPOT_PATH, headers),
            identity=await ask(client, "GET", IDENTITY_PATH, headers),
        )
