"""The routes of Compute Engine's metadata server.

Source of paths, headers and status codes: Compute Engine documentation, "About VM metadata",
"View and query VM metadata" and "Wait for updates" (read 2026-11-30); google-guest-agent and
gce_metadata_server for what it leaves out. What nobody promises is refused here, so that no
client comes to lean on it.
"""

import re
from http import HTTPStatus

from aiohttp import web

from watcher.simulator.answers import compact_json, error_page
from watcher.simulator.gcp.tree import Leaf, Tree, json_value

ROOT = "/computeMetadata/"
PREFIX = ROOT + "v1/"

PREEMPTED = "instance/preempted"
MAINTENANCE_EVENT = "instance/maintenance-event"
UPCOMING = "instance/upcoming-maintenance"

_SIGNS = {"Metadata-Flavor": "Google", "Server": "Metadata Server for VM"}


class GcpMetadata:
    """Answers for one VM, to those who show that they mean this server.

    ``is_armed`` is whether `maintenance-event` itself was asked for since it was last cleared: a
    directory that has it in does not count.
    """

    def __init__(self, tree: Tree) -> None:
        self.is_armed = False
        self._tree = tree

    def routes(self) -> list[web.RouteDef]:
        """List the routes; the last one takes every path, because an unknown one is a 404 too."""
        return [
            web.get("/", self.get_root),
            web.get(PREFIX + "{path:.*}", self.get_item),
            web.route("*", "/{path:.*}", self.refuse),
        ]

    async def get_root(self, _request: web.Request) -> web.Response:
        """Answer with the one directory that there is; Google's libraries ask who is there so."""
        return _signed(_text(ROOT.removeprefix("/") + "\n"))

    async def refuse(self, _request: web.Request) -> web.Response:
        """Answer 404: there is nothing else, also not for who takes this for EC2."""
        return _signed(error_page(HTTPStatus.NOT_FOUND))

    async def get_item(self, request: web.Request) -> web.Response:
        """Answer with a value or a directory; 403 without the header, or through a proxy."""
        refused = _refused(request)
        if refused is not None:
            return refused
        path = request.match_info["path"]
        waits = request.query.get("wait_for_change", "").lower() == "true"
        timeout = request.query.get("timeout_sec")
        if timeout is not None and not re.fullmatch(r"[0-9]{1,5}", timeout):
            return _signed(error_page(HTTPStatus.BAD_REQUEST))
        etag = self._tree.etag(path)
        if etag is None and self._tree.is_directory(f"{path}/"):
            moved = _signed(error_page(HTTPStatus.MOVED_PERMANENTLY))
            moved.headers["Location"] = f"{request.path}/"
            return moved
        if path == MAINTENANCE_EVENT:
            self.is_armed = True
        if waits and etag is not None:
            known = request.query.get("last_etag", etag)
            await self._tree.changed_from(path, known, None if timeout is None else int(timeout))
        return self._answer(path, request)

    def _answer(self, path: str, request: web.Request) -> web.Response:
        etag, leaf = self._tree.etag(path), self._tree.leaf(path)
        if etag is None:
            return _signed(error_page(HTTPStatus.NOT_FOUND))
        wants_json = request.query.get("alt") == "json"
        answer = _value(leaf, wants_json=wants_json) if leaf else self._directory(path, request)
        answer.headers["ETag"] = etag
        return _signed(answer)

    def _directory(self, path: str, request: web.Request) -> web.Response:
        if request.query.get("recursive", "").lower() == "true":
            return _json(compact_json(self._tree.document(path)))
        return _text(self._tree.listing(path))


def _refused(request: web.Request) -> web.Response | None:
    is_meant = request.headers.get("Metadata-Flavor") == "Google"
    if is_meant and "X-Forwarded-For" not in request.headers:
        return None
    return _signed(error_page(HTTPStatus.FORBIDDEN))


def _value(leaf: Leaf, *, wants_json: bool) -> web.Response:
    if leaf.is_verbatim:
        return _json(leaf.text, leaf.status)
    return _json(compact_json(json_value(leaf))) if wants_json else _text(leaf.text, leaf.status)


def _text(text: str, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(status=status, body=text.encode(), content_type="application/text")


def _json(text: str, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(status=status, body=text.encode(), content_type="application/json")


def _signed(answer: web.Response) -> web.Response:
    answer.headers.update(_SIGNS)
    return answer
