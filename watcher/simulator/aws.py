"""The routes of EC2's instance metadata service, version 2 required.

Source of paths, headers and status codes: EC2 user guide, "Use IMDSv2", "Retrieve instance
metadata" and "Instance metadata categories" (read 2026-11-30). What the guide does not promise
is refused here, so that no client comes to lean on it.
"""

import json
import re
from http import HTTPStatus

from aiohttp import web

from watcher.simulator.instance import Instance
from watcher.simulator.scenario import MAX_TOKEN_TTL_S, Scenario, SpotAction
from watcher.simulator.tokens import Tokens

TOKEN_HEADER = "X-aws-ec2-metadata-token"  # noqa: S105 - a header's name, not a secret
TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
META_DATA = "/latest/meta-data/"
IDENTITY = "/latest/dynamic/instance-identity/document"

REGION = "us-east-1"
ZONE = "us-east-1a"
INSTANCE_TYPE = "p5.48xlarge"


class AwsMetadata:
    """Answers for one instance; everything but minting a token needs a token."""

    def __init__(self, scenario: Scenario, instance: Instance, tokens: Tokens) -> None:
        self._instance_id = scenario.instance_id
        self._instance = instance
        self._tokens = tokens

    def routes(self) -> list[web.RouteDef]:
        """List the routes; the last one takes every path, because an unknown one is a 404 too."""
        return [
            web.put("/latest/api/token", self.mint_token),
            web.put(r"/{version:\d{4}-\d\d-\d\d}/api/token", self.refuse_versioned_token),
            web.get("/{path:.*}", self.get_item),
        ]

    async def mint_token(self, request: web.Request) -> web.Response:
        """Answer with a token: 403 through a proxy, 400 without a life from 1 to 21600 s."""
        if "X-Forwarded-For" in request.headers:
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
        """Answer with an item or a directory, 404 if absent, 401 without a live token."""
        ttl_s = self._tokens.seconds_left(request.headers.get(TOKEN_HEADER))
        if ttl_s is None:
            return error_page(HTTPStatus.UNAUTHORIZED)
        items, path = self.items(), request.path
        body = listing(items, path) if path.endswith("/") else items.get(path)
        if body is None:
            return error_page(HTTPStatus.NOT_FOUND, ttl_s=ttl_s)
        return plain_text(body, ttl_s=ttl_s)

    def items(self) -> dict[str, str]:
        """Map every path that exists at this moment to its body; a path not in here is a 404."""
        items = {
            META_DATA + "events/maintenance/history": "[]",
            META_DATA + "events/maintenance/scheduled": "[]",
            # Not the Spot item: always there, always `none`, and mistaken for it (a known trap).
            META_DATA + "instance-action": "none",
            META_DATA + "instance-id": self._instance_id,
            META_DATA + "instance-life-cycle": "spot",
            META_DATA + "instance-type": INSTANCE_TYPE,
            META_DATA + "placement/availability-zone": ZONE,
            META_DATA + "placement/region": REGION,
            IDENTITY: self._identity_document(),
        }
        rebalance_time = self._instance.rebalance_time()
        if rebalance_time is not None:
            document = compact_json({"noticeTime": rebalance_time})
            items[META_DATA + "events/recommendations/rebalance"] = document
        mark = self._instance.mark()
        if mark is not None:
            document = compact_json({"action": mark.action, "time": mark.time})
            items[META_DATA + "spot/instance-action"] = document
            if mark.action is SpotAction.TERMINATE:
                items[META_DATA + "spot/termination-time"] = mark.time
        return items

    def _identity_document(self) -> str:
        return compact_json(
            {
                "accountId": "123456789012",
                "availabilityZone": ZONE,
                "instanceId": self._instance_id,
                "instanceType": INSTANCE_TYPE,
                "region": REGION,
            }
        )


def listing(items: dict[str, str], directory: str) -> str | None:
    """List a directory's children, one a line, sub-directories with a slash; None if it is empty.

    Source: EC2 user guide, "Retrieve instance metadata" (read 2026-11-30): a path that ends
    in a slash lists its children or is a 404.
    """
    children = set()
    for path in items:
        if path.startswith(directory):
            child, slash, _ = path.removeprefix(directory).partition("/")
            children.add(child + slash)
    return "\n".join(sorted(children)) or None


def compact_json(document: dict[str, str]) -> str:
    """Write JSON without spaces, on one line."""
    return json.dumps(document, separators=(",", ":"))


def plain_text(body: str, *, ttl_s: int) -> web.Response:
    """Answer 200 as EC2 does: text/plain whatever the body is, and the token's seconds left."""
    headers = {TTL_HEADER: str(ttl_s)}
    return web.Response(body=body.encode(), content_type="text/plain", headers=headers)


def error_page(status: HTTPStatus, *, ttl_s: int | None = None) -> web.Response:
    """Answer with an error as EC2 does: the status counts, the body is a page for a browser."""
    title = f"{status.value} - {status.phrase}"
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
    headers = {} if ttl_s is None else {TTL_HEADER: str(ttl_s)}
    return web.Response(status=status, text=page, content_type="text/html", headers=headers)
