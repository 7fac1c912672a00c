"""Requests to the API server: what each failure is, the token, and the connection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.fakes.kube.access import ADMIN, Subject
from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.kinds import NODE as NODE_KIND
from tests.fakes.kube.refusals import (
    Refusal,
    busy,
    expired,
    forbidden,
    internal,
    invalid,
    timed_out,
)
from tests.fakes.kube.server import fake_api_server
from tests.support.certificate import certified
from tests.support.own_node import OwnNode
from watcher.errors import (
    ConfigError,
    KubeError,
    KubeForbidden,
    KubeGone,
    KubeMalformed,
    KubeNotFound,
    KubeRefused,
    KubeThrottled,
    KubeUnavailable,
)
from watcher.kube.client import KubeClient
from watcher.kube.place import Place

NODE = "/api/v1/nodes/node-a"


@asynccontextmanager
async def _says(body: bytes) -> AsyncIterator[str]:
    """Answer everything with 200 and this body."""

    async def handle(_request: web.Request) -> web.Response:
        return web.Response(body=body)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield "http://{}:{}".format(*runner.addresses[0][:2])
    await runner.cleanup()


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (forbidden(), KubeForbidden),
        (expired(2, 217), KubeGone),
        (internal("etcd"), KubeUnavailable),
        (timed_out(), KubeUnavailable),
        (busy(), KubeThrottled),
        (invalid(NODE_KIND, "node-a", "spec", "why"), KubeRefused),
        (Refusal(302, "Found", "elsewhere"), KubeUnavailable),
        (Refusal(408, "Timeout", "of a proxy"), KubeUnavailable),
    ],
    ids=["403", "410", "500", "504", "429", "422", "302", "408"],
)
async def test_call_fails_as_what_the_answer_means(
    own: OwnNode, refusal: Refusal, error: type[KubeError]
) -> None:
    """And names the call and what the server has said."""
    own.server.faults.add(refusal)
    with pytest.raises(error, match=f"GET {NODE}: {refusal.code} ") as raised:
        await own.client.get(NODE)
    assert type(raised.value) is error


async def test_missing_object_is_told_from_every_other_failure(own: OwnNode) -> None:
    """404 is an answer."""
    with pytest.raises(KubeNotFound):
        await own.client.get("/api/v1/nodes/another")


async def test_busy_server_says_when_to_ask_again(own: OwnNode) -> None:
    """As Retry-After has it."""
    own.server.faults.add(busy(7))
    with pytest.raises(KubeThrottled) as raised:
        await own.client.get(NODE)
    assert raised.value.retry_after_s == 7


@pytest.mark.parametrize("trouble", [Trouble.HANG, Trouble.RESET, Trouble.LOST])
async def test_call_is_unknown_when_no_answer_comes(hasty: OwnNode, trouble: Trouble) -> None:
    """Whether it was done or not; the time limit ends it where nothing else does."""
    hasty.server.faults.add(trouble)
    with pytest.raises(KubeUnavailable):
        await hasty.client.send("PATCH", NODE, {}, media="application/merge-patch+json")


async def test_call_is_unknown_when_the_server_is_away(own: OwnNode) -> None:
    """Refused at once; and it works again without a new client when the server is back."""
    await own.client.get(NODE)
    await own.server.away()
    with pytest.raises(KubeUnavailable):
        await own.client.get(NODE)
    await own.server.back()
    await own.client.get(NODE)


async def test_calls_share_one_connection_when_they_follow_each_other(own: OwnNode) -> None:
    """A fresh one costs milliseconds, with TLS tens of them."""
    for _ in range(5):
        await own.client.get(NODE)
    await own.client.send("PATCH", NODE, {}, media="application/merge-patch+json")
    assert own.server.connections == 1


async def test_token_is_read_again_when_it_is_refused(own: OwnNode) -> None:
    """The call is sent once more with the new one, and nobody is told."""
    await own.client.get(NODE)
    own.server.access.rotate(ADMIN, "tomorrow")
    own.token_file.write_text("tomorrow")
    await own.client.get(NODE)


async def test_call_is_unknown_when_the_token_is_refused_and_no_newer_one_is_there(
    own: OwnNode,
) -> None:
    """401 says nothing about the object; the kubelet may be about to write another."""
    own.server.access.rotate(ADMIN, "tomorrow")
    with pytest.raises(KubeUnavailable, match="401"):
        await own.client.get(NODE)
    own.token_file.write_text("tomorrow")
    await own.client.get(NODE)


async def test_body_that_is_no_object_is_malformed(own: OwnNode) -> None:
    """As of a proxy that answers in the API server's place."""
    async with (
        _says(b"<html>sign in</html>") as url,
        KubeClient(Place(url, own.token_file), None) as client,
    ):
        with pytest.raises(KubeMalformed):
            await client.get(NODE)


async def test_write_is_only_judged_when_it_is_a_dry_run(own: OwnNode) -> None:
    """The server takes it or refuses it, and stores nothing."""
    before = own.cluster.node("node-a")
    own.client.is_dry_run = True
    patch = {"metadata": {"labels": {"a": "b"}}}
    await own.client.send("PATCH", NODE, patch, media="application/merge-patch+json")
    assert own.cluster.node("node-a") == before
    assert own.server.access.calls[-1].query == {"dryRun": "All"}
    own.server.access.subjects[ADMIN] = Subject("nobody", ())
    with pytest.raises(KubeForbidden):
        await own.client.send("PATCH", NODE, patch, media="application/merge-patch+json")


async def test_server_is_believed_only_with_its_authority(tmp_path: Path) -> None:
    """Over TLS; another certificate is as good as no server."""
    ours, other = tmp_path / "ours", tmp_path / "other"
    ours.mkdir()
    other.mkdir()
    context, authority = certified(ours)
    (tmp_path / "token").write_text(ADMIN)
    async with fake_api_server(tls=context) as server:
        server.cluster.add_node("node-a")
        place = Place(server.url, tmp_path / "token", authority)
        async with KubeClient(place, place.tls()) as client:
            await client.get(NODE)
        place = Place(server.url, tmp_path / "token", certified(other)[1])
        async with KubeClient(place, place.tls()) as client:
            with pytest.raises(KubeUnavailable, match="certificate"):
                await client.get(NODE)


def test_authority_is_a_matter_of_set_up_when_its_file_is_missing(tmp_path: Path) -> None:
    """Said at start, with the file's name."""
    with pytest.raises(ConfigError, match=r"ca\.crt: No such file"):
        Place("https://10.0.0.1:443", tmp_path / "token", tmp_path / "ca.crt").tls()
