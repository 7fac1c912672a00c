"""The routes of EC2's instance metadata service.

Source of paths, headers and status codes: EC2 user guide, "Use IMDSv2", "Retrieve instance
metadata" and "Instance metadata categories" (read 2026-11-30). What the guide does not promise
is refused here, so that no client comes to lean on it.
"""

import re
from http import HTTPStatus

from aiohttp import web

from watcher.simulator.answers import children, compact_json, no_answer
from watcher.simulator.aws.answers import TTL_HEADER, error_page, plain_text
from watcher.simulator.aws.changes import SpotAction
from watcher.simulator.aws.identity import Identity
from watcher.simulator.aws.instance import Instance
from watcher.simulator.aws.options import Access
from watcher.simulator.aws.tokens import MAX_TOKEN_TTL_S, Tokens

TOKEN_HEADER = "X-aws-ec2-metadata-token"  # noqa: S105 - a header's name, not a secret
ROOT = "/latest/"
META_DATA = ROOT + "meta-data/"
IDENTITY = "/latest/dynamic/instance-identity/document"

REGION = "us-east-1"
ZONE = "us-east-1a"
INSTANCE_TYPE = "p5.48xlarge"
PRIVATE_IP = "10.0.0.10"


class AwsMetadata:
    """Answers for one instance, to those whom its metadata options let in."""

    def __init__(
        self, identity: Identity, instance: Instance, tokens: Tokens, access: Access
    ) -> None:
        self._identity = identity
        self._instance = instance
        self._tokens = tokens
        self._access = access

    def routes(self) -> list[web.RouteDef]:
        """List the routes; the last one takes every path, because an unknown one is a 404 too."""
        return [
            web.put("/latest/api/token", self.mint_token),
            web.put(r"/{version:\d{4}-\d\d-\d\d}/api/token", self.refuse_versioned_token),
            web.get("/{path:.*}", self.get_item),
        ]

    async def mint_token(self, request: web.Request) -> web.Response:
        """Answer with a token: 403 through a proxy, 400 without a life from 1 to 21600 s.

        Whatever the answer, it is dropped on its way to a client that is too many hops away.
        """
        if not self._access.token_arrives:
            await no_answer()
        if not self._access.is_enabled or "X-Forwarded-For" in request.headers:
            return error_page(HTTPStatus.FORBIDDEN)
        asked = request.headers.get(TTL_HEADER, "")
        if not re.fullmatch(r"[0-9]{1,5}", asked) or not 1 <= int(asked) <= MAX_TOKEN_TTL_S:
            return error_page(HTTPStatus.BAD_REQUEST)
        token = self._tokens.mint(int(asked))
        return plain_text(token.text, ttl_s=token.ttl_s)

    async def refuse_versioned_token(self, _request: web.Request) -> web.Response:
        """Answer 403: tokens are minted under `latest` only, by EC2's design."""
        return error_page(HTTPStatus.FORBIDDEN)

    async def get_item(self, request: web.Request) -> web.Response:
        """Answer with an item or a directory, 404 if absent, 401 without a live token.

        A request that carries no token at all is one of version 1, which the options may allow.
        """
        if not self._access.is_enabled:
            return error_page(HTTPStatus.FORBIDDEN)
        token = request.headers.get(TOKEN_HEADER)
        ttl_s = self._tokens.seconds_left(token)
        if ttl_s is None and (token is not None or self._access.needs_token):
            return error_page(HTTPStatus.UNAUTHORIZED)
        items, path = self.items(), request.path
        body = listing(items, path) if path.endswith("/") else items.get(path)
        if body is None:
            return error_page(HTTPStatus.NOT_FOUND, ttl_s=ttl_s)
        return plain_text(body, ttl_s=ttl_s)

    def items(self) -> dict[str, str]:
        """Map every path that exists at this moment to its body; a path not in here is a 404."""
        meta_data = self._lasting_items() | self._passing_items()
        items = {META_DATA + path: body for path, body in meta_data.items()}
        return items | {IDENTITY: self._identity_document()}

    def _lasting_items(self) -> dict[str, str]:
        maintenance = self._instance.maintenance
        return {
            "events/maintenance/history": compact_json(maintenance.history),
            "events/maintenance/scheduled": compact_json(maintenance.scheduled),
            # Not the Spot item: always there, always `none`, and mistaken for it (a known trap).
            "instance-action": "none",
            "instance-id": self._identity.instance_id,
            "instance-life-cycle": self._identity.life_cycle,
            "instance-type": INSTANCE_TYPE,
            "local-ipv4": PRIVATE_IP,
            "placement/availability-zone": ZONE,
            "placement/region": REGION,
        }

    def _passing_items(self) -> dict[str, str]:
        items = {}
        rebalance_time = self._instance.rebalance_time()
        if rebalance_time is not None:
            document = compact_json({"noticeTime": rebalance_time})
            items["events/recommendations/rebalance"] = document
        if self._instance.target_state is not None:
            items["autoscaling/target-lifecycle-state"] = self._instance.target_state
        if self._identity.no_termination_time is not None:
            items["spot/termination-time"] = self._identity.no_termination_time
        mark = self._instance.mark()
        if mark is not None:
            document = compact_json({"action": mark.action, "time": mark.time})
            items["spot/instance-action"] = document
            if mark.action is SpotAction.TERMINATE:
                items["spot/termination-time"] = mark.time
        return items

    def _identity_document(self) -> str:
        return compact_json(
            {
                "accountId": "123456789012",
                "availabilityZone": ZONE,
                "imageId": "ami-0123456789abcdef0",
                "instanceId": self._identity.instance_id,
                "instanceType": INSTANCE_TYPE,
                "privateIp": PRIVATE_IP,
                "region": REGION,
            }
        )


def listing(items: dict[str, str], directory: str) -> str | None:
    """List a directory's children, one a line, sub-directories with a slash; None if it is empty.

    Source: EC2 user guide, "Retrieve instance metadata" (read 2026-11-30): a path that ends
    in a slash lists its children or is a 404.
    """
    return "\n".join(children(items, directory)) or None
