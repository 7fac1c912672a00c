"""Each fault as a client sees it on a real socket."""

import asyncio
import json
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.support.simulated_aws import Simulator

ITEM = "meta-data/instance-id"


async def read_raw(simulator: Simulator) -> bytes:
    """Get the item over a bare socket and return every byte up to the end of the connection."""
    port = urlsplit(simulator.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET /latest/{ITEM} HTTP/1.1\r\nHost: x\r\nX-aws-ec2-metadata-token: {simulator.token}"
    writer.write(head.encode() + b"\r\n\r\n")
    try:
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_status_fault_answers_with_its_status(simulator: Simulator, status: int) -> None:
    """Once, whatever the token; then the true answer is back."""
    fault = {"kind": "status", "status": status, "count": 1}
    await simulator.control("POST", "fault", fault)
    assert [(await simulator.get(ITEM)).status for _ in range(2)] == [status, 200]


async def test_status_fault_meets_the_token_call_too(simulator: Simulator) -> None:
    """The whole service fails unless a narrower path is given."""
    await simulator.control("POST", "fault", {"kind": "status"})
    assert (await simulator.mint()).status == 503
    await simulator.control("DELETE", "fault")
    narrow = {"kind": "status", "path_prefix": "/latest/api/"}
    await simulator.control("POST", "fault", narrow)
    assert ((await simulator.mint()).status, (await simulator.get(ITEM)).status) == (503, 200)


async def test_reset_fault_resets_the_connection(simulator: Simulator) -> None:
    """The client sees a reset, not an end of file."""
    await simulator.control("POST", "fault", {"kind": "reset", "count": 1})
    with pytest.raises(ConnectionResetError):
        await read_raw(simulator)
    assert (await simulator.get(ITEM)).status == 200


async def test_half_body_fault_promises_more_than_it_sends(simulator: Simulator) -> None:
    """The head is the true one, the body stops half-way, the connection ends."""
    await simulator.control("POST", "fault", {"kind": "half_body", "count": 1})
    head, _, body = (await read_raw(simulator)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"Content-Length: 19" in head
    assert body == b"i-0123456"


async def test_half_body_fault_is_an_error_for_an_http_client(simulator: Simulator) -> None:
    """A client that reads to the end must notice that the end is missing."""
    await simulator.control("POST", "fault", {"kind": "half_body", "count": 1})
    with pytest.raises(aiohttp.ClientPayloadError):
        await simulator.get(ITEM)


async def test_hang_fault_never_answers_and_ends_with_its_client(simulator: Simulator) -> None:
    """Nothing comes until the client gives up; the log keeps it as never answered."""
    await simulator.control("POST", "fault", {"kind": "hang", "count": 1})
    hanging = asyncio.create_task(simulator.get(ITEM))
    await simulator.fault_met()
    assert (await simulator.get(ITEM)).status == 200
    assert not hanging.done()
    hanging.cancel()
    assert (await simulator.fault_met())["status"] is None


async def test_hang_fault_leaves_nothing_behind_when_its_client_has_gone(
    simulator: Simulator,
) -> None:
    """The server's task for the request ends with the connection, or a long run would pile up."""
    await simulator.control("POST", "fault", {"kind": "hang", "count": 1})
    tasks_before = len(asyncio.all_tasks())
    hanging = asyncio.create_task(simulator.get(ITEM))
    await simulator.fault_met()
    hanging.cancel()
    while len(asyncio.all_tasks()) > tasks_before:
        await simulator.requests()


async def test_garbage_fault_is_neither_text_nor_json(simulator: Simulator) -> None:
    """200 and text/plain, like a good answer, around bytes that mean nothing."""
    await simulator.control("POST", "fault", {"kind": "garbage", "count": 1})
    answer = await simulator.get(ITEM)
    assert (answer.status, answer.content_type) == (200, "text/plain")
    with pytest.raises(json.JSONDecodeError):
        json.loads(answer.body)
    assert "\ufffd" in answer.body


async def test_html_fault_is_a_page_with_status_200(simulator: Simulator) -> None:
    """What a captive portal does."""
    await simulator.control("POST", "fault", {"kind": "html", "count": 1})
    answer = await simulator.get(ITEM)
    assert (answer.status, answer.body[:6]) == (200, "<html>")
    assert answer.content_type.startswith("text/html")


async def test_redirect_fault_leads_to_another_name_and_a_404(simulator: Simulator) -> None:
    """A client that follows it finds what looks like "no notice"."""
    await simulator.control("POST", "fault", {"kind": "redirect", "count": 1})
    answer = await simulator.get(ITEM)
    target = urlsplit(answer.headers["location"])
    assert answer.status == 302
    assert (target.hostname, target.port) == ("localhost", urlsplit(simulator.url).port)
    followed = {"X-aws-ec2-metadata-token": simulator.token}
    assert (await simulator.ask("GET", target.path, followed)).status == 404


async def test_answer_fault_sends_what_it_was_given(simulator: Simulator) -> None:
    """Status, headers and body; text/plain and the token's seconds unless said otherwise."""
    headers = {"retry-after": "7", "content-type": "application/json"}
    written = {"kind": "answer", "status": 429, "headers": headers, "body": "{}", "count": 1}
    await simulator.control("POST", "fault", written)
    answer = await simulator.get(ITEM)
    assert (answer.status, answer.content_type, answer.body) == (429, "application/json", "{}")
    assert answer.headers["retry-after"] == "7"
    await simulator.control("POST", "fault", {"kind": "answer", "body": "x", "count": 1})
    plain = await simulator.get(ITEM)
    assert (plain.status, plain.content_type, plain.body) == (200, "text/plain", "x")
    assert "x-aws-ec2-metadata-token-ttl-seconds" in plain.headers


async def test_answer_fault_still_asks_for_the_token(simulator: Simulator) -> None:
    """What an item says is nobody's business who may not read it."""
    await simulator.control("POST", "fault", {"kind": "answer", "body": "x"})
    assert (await simulator.ask("GET", f"/latest/{ITEM}")).status == 401
    assert (await simulator.get("nowhere")).body == "x"


async def test_script_plays_its_answers_in_order_and_then_the_truth(simulator: Simulator) -> None:
    """Only on its path; each answer as often as it says."""
    answers = [{"kind": "status", "status": 503, "count": 2}, {"body": "a"}, {"body": "b"}]
    script = {"path_prefix": f"/latest/{ITEM}", "answers": answers}
    await simulator.control("POST", "script", script)
    assert (await simulator.get("meta-data/placement/region")).body == "us-east-1"
    seen = [await simulator.get(ITEM) for _ in range(5)]
    assert [answer.status for answer in seen] == [503, 503, 200, 200, 200]
    assert [answer.body for answer in seen[2:]] == ["a", "b", "i-0123456789abcdef0"]


async def test_odd_body_is_the_true_one_but_for_its_oddity(simulator: Simulator) -> None:
    """Status and headers stay; an absence stays an absence."""
    action = "meta-data/spot/instance-action"
    await simulator.control("POST", "fault", {"kind": "newline", "count": 1})
    absent = await simulator.get(action)
    assert (absent.status, absent.body) == (404, (await simulator.get(action)).body)
    await simulator.control("POST", "fault", {"kind": "unknown_action"})
    await simulator.control("POST", "notice")
    odd = await simulator.get(action)
    assert (odd.status, odd.content_type) == (200, "text/plain")
    assert json.loads(odd.body)["action"] == "defenestrate"
    await simulator.control("DELETE", "fault")
    assert json.loads((await simulator.get(action)).body)["action"] == "terminate"


async def test_slow_fault_gives_the_true_answer_late(simulator: Simulator) -> None:
    """Others are served meanwhile."""
    slow = {"kind": "slow", "delay_s": 1.5, "path_prefix": "/latest/meta-data/instance-id"}
    await simulator.control("POST", "fault", slow)
    order: list[str] = []

    async def ask(path: str) -> None:
        assert (await simulator.get(path)).status == 200
        order.append(path)

    late = asyncio.create_task(ask(ITEM))
    await simulator.fault_met()
    await ask("meta-data/placement/region")
    await late
    assert order == ["meta-data/placement/region", ITEM]


async def test_expire_tokens_makes_every_old_token_unknown(simulator: Simulator) -> None:
    """At once and once: a newly minted token is good."""
    await simulator.control("POST", "fault", {"kind": "expire_tokens"})
    assert (await simulator.get(ITEM)).status == 401
    simulator.token = (await simulator.mint()).body
    assert (await simulator.get(ITEM)).status == 200
