"""Whether this machine is an EC2 instance, by the metadata service's own positive word.

The address 169.254.169.254 is every cloud's, and a captive portal answers everything. So a status
alone proves nothing: not a 404, and not a page with a 200.
"""

import re

from watcher.errors import ConfigError, SourceMalformed
from watcher.httpclient import Answer, HttpClient
from watcher.sources.aws_config import AwsConfig
from watcher.sources.aws_session import (
    INSTANCE_ID_PATH,
    NO_V2_STATUSES,
    TOKEN_HEADER,
    TOKEN_PATH,
    TTL_HEADER,
    parse_token,
    refusal,
)

DMI = {"sys_vendor": r"Amazon EC2", "bios_vendor": r"Amazon EC2", "bios_version": r".*\.amazon"}
"""What the firmware says on Nitro and metal, and in the last place under Xen.

Source: EC2 user guide, "Detect whether a host is an EC2 instance"; cloud-init, ds-identify (both
read 2026-11-30)."""

_TTL_S = 60
_ID = re.compile(rb"i-[0-9a-f]{8}([0-9a-f]{9})?")
"""Source: EC2 user guide, "Amazon EC2 resource IDs" (read 2026-11-30)."""

_SERVER = "EC2ws"
"""The header Server of every answer. Clouds that mimic version 1, such as OpenStack, have another.

Source: Snowball Edge developer guide, "IMDS code examples" (read 2026-11-30)."""


async def proof(config: AwsConfig) -> str | None:
    """Say what proves that this is EC2: a token and an id, or in version 1 the server's name too.

    Raises:
        ConfigError: The metadata service may not be asked, and yet there is a queue to read.
        SourceError: There is no answer, or one that is not EC2's.
    """
    if config.metadata == "off":
        raise ConfigError(
            "cloud = auto can't tell AWS, as aws.metadata is off: set cloud = aws for the queue"
        )
    async with HttpClient(config.metadata_endpoint, config.metadata_limit_s) as client:
        asked = await client.call("PUT", TOKEN_PATH, {TTL_HEADER: str(_TTL_S)})
        if asked.status == 200:
            token, _ = parse_token(asked)
            answer = await client.call("GET", INSTANCE_ID_PATH, {TOKEN_HEADER: token})
            return f"a token, and the instance's id {_id(answer)}"
        if asked.status not in NO_V2_STATUSES or config.metadata_v1 == "off":
            raise refusal(asked.status, f"PUT {TOKEN_PATH}")
        answer = await client.call("GET", INSTANCE_ID_PATH, {})
        found = _id(answer)
        if answer.headers.get("Server") != _SERVER:
            return None  # as OpenStack has it
        return f"the server's name {_SERVER}, and the instance's id {found}"


def _id(answer: Answer) -> str:
    if answer.status != 200:
        raise refusal(answer.status, f"GET {INSTANCE_ID_PATH}")
    body = answer.body.strip()
    if not _ID.fullmatch(body):
        raise SourceMalformed(f"GET {INSTANCE_ID_PATH}: no instance's id: {body[:64]!r}")
    return body.decode()
