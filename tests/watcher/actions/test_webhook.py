"""News posted to a real server, which answers, fails, or never does."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.support.certificate import certified
from tests.support.clocks import TurnedClock, eventually
from tests.support.hooked import DRIP, HANG, OK, RESET, Hooked, answer, hooked
from tests.support.standings import in_force
from watcher.actions import aside
from watcher.actions.aside import QUEUE_LIMIT, Aside
from watcher.actions.news import News, document
from watcher.actions.webhook import Webhook
from watcher.actions.webhook_config import WebhookConfig
from watcher.errors import ActionRefused, ActionRetryable
from watcher.metrics import Metrics

CANARY = "canary-7f3a9c"
NEWS = News(in_force())


@pytest.fixture
async def hook() -> AsyncIterator[Hooked]:
    """Run a server whose path is a secret."""
    async with hooked(f"/services/{CANARY}-path?sig={CANARY}-query") as hook:
        yield hook


def webhook(hook: Hooked, *, limit_s: float = 10.0) -> Webhook:
    """Return one that posts there."""
    return Webhook(WebhookConfig(url=hook.url, limit_s=limit_s), "node-7")


async def test_news_is_posted_as_our_own_document_when_nothing_else_is_set(hook: Hooked) -> None:
    """One POST to the very URL, with the news as JSON."""
    assert await webhook(hook).tell(NEWS) == "answered 200"
    (posted,) = hook.posted
    assert posted.line == f"POST {hook.path} HTTP/1.1"
    assert posted.headers["Content-Type"] == "application/json"
    assert posted.json == document(NEWS, "node-7")


@pytest.mark.parametrize("said", [answer(202), answer(204, body=""), OK[:-2]])
async def test_news_is_told_when_the_server_says_so_by_its_status(
    hook: Hooked, said: bytes
) -> None:
    """Nobody needs the body of a success, not even whole."""
    hook.answers.append(said)
    assert (await webhook(hook).tell(NEWS)).startswith("answered 20")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (RESET, "Error"),
        (b"", "ServerDisconnectedError"),
        (b"\x00\xff nonsense\r\n\r\n", "Error"),
        (answer(500), "answered 500, saying ok"),
        (answer(503, body="x" * 9999), "answered 503"),
        (answer(408), "answered 408"),
    ],
)
async def test_news_may_be_tried_again_when_there_was_no_usable_answer(
    hook: Hooked, said: bytes, why: str
) -> None:
    """As it may pass; the URL is in no message."""
    hook.answers.append(said)
    with pytest.raises(ActionRetryable, match=why) as caught:
        await webhook(hook).tell(NEWS)
    assert CANARY not in str(caught.value)
    assert caught.value.after_s == 0


@pytest.mark.parametrize("said", [HANG, DRIP])
async def test_news_may_be_tried_again_when_no_answer_comes_within_the_limit(
    hook: Hooked, said: bytes
) -> None:
    """One limit counts for all of it, so that bytes that come one by one don't help."""
    # The status line takes 17 bytes at a hundredth of a second each; it is never through in time.
    hook.answers.append(said)
    with pytest.raises(ActionRetryable, match=r"no answer within 0.1 s"):
        await webhook(hook, limit_s=0.1).tell(NEWS)


@pytest.mark.parametrize(("value", "wait_s"), [("7", 7), ("soon", 0), ("-7", 0), ("9" * 99, 0)])
async def test_news_waits_as_long_as_the_server_asks_for_when_it_is_busy(
    hook: Hooked, value: str, wait_s: float
) -> None:
    """Nonsense asks for nothing."""
    hook.answers.append(answer(429, f"Retry-After: {value}"))
    with pytest.raises(ActionRetryable, match="429") as caught:
        await webhook(hook).tell(NEWS)
    assert caught.value.after_s == wait_s


@pytest.mark.parametrize(("hours", "least_s", "most_s"), [(1, 3000, 3600), (-1, 0, 0)])
async def test_news_waits_until_the_server_says_when_it_is_busy(
    hook: Hooked, hours: float, least_s: float, most_s: float
) -> None:
    """A date in the past asks for nothing."""
    until = format_datetime(datetime.now(UTC) + timedelta(hours=hours), usegmt=True)
    hook.answers.append(answer(429, f"Retry-After: {until}"))
    with pytest.raises(ActionRetryable, match="429") as caught:
        await webhook(hook).tell(NEWS)
    assert least_s <= caught.value.after_s <= most_s


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(400, body="invalid_payload\nmore"), "answered 400, saying invalid_payload$"),
        (answer(403, body=""), "answered 403$"),
        (answer(404, body="x" * 9999), "answered 404$"),
    ],
)
async def test_news_is_refused_when_the_server_does_not_take_it(
    hook: Hooked, said: bytes, why: str
) -> None:
    """Trying again would only make it worse; its words help, if they are few."""
    hook.answers.append(said)
    with pytest.raises(ActionRefused, match=why):
        await webhook(hook).tell(NEWS)


async def test_news_goes_nowhere_else_when_the_server_says_so(hook: Hooked) -> None:
    """Neither to another host nor to another path, secrets and all."""
    async with hooked() as other:
        for location in (other.url, "/other"):
            hook.answers.append(answer(307, f"Location: {location}"))
            with pytest.raises(ActionRefused, match=r"answered 307.*redirects are not followed"):
                await webhook(hook).tell(NEWS)
        assert (len(hook.posted), len(other.posted)) == (2, 0)


async def test_news_is_not_posted_when_nobody_vouches_for_the_server(tmp_path: Path) -> None:
    """A certificate that signs itself may be anybody's."""
    context, _ = certified(tmp_path)
    async with hooked(tls=context) as hook:
        with pytest.raises(ActionRetryable, match="Certificate"):
            await webhook(hook).tell(NEWS)
        assert hook.posted == []


async def test_news_may_be_tried_again_when_the_name_is_unknown_or_nobody_listens(
    hook: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are looked up beside the loop, and in no thread pool that others use."""
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "run_in_executor", None)
    there = hook.url.replace("127.0.0.1", "localhost")
    assert await Webhook(WebhookConfig(url=there), "n").tell(NEWS) == "answered 200"
    for nowhere in ("https://hook.invalid/x", "http://127.0.0.1:1/x"):
        with pytest.raises(ActionRetryable, match="ClientConnector"):
            await Webhook(WebhookConfig(url=nowhere), "n").tell(NEWS)


async def test_secrets_are_read_for_each_post_and_shown_to_nobody_else(
    hook: Hooked, tmp_path: Path
) -> None:
    """From files, which may be renewed; a server that repeats them is not quoted."""
    url, token, key = (tmp_path / name for name in ("url", "token", "key"))
    url.write_text(hook.url + "\n")
    token.write_text("first")
    key.write_text(f"{CANARY}-key\n")
    config = WebhookConfig(
        url_file=url, preset="pagerduty", key_file=key, header_files=(f"X-Token={token}",)
    )
    told = Webhook(config, "node-7")
    await told.tell(NEWS)
    token.write_text(f"{CANARY}-token")
    await told.tell(NEWS)
    assert [posted.headers["X-Token"] for posted in hook.posted] == ["first", f"{CANARY}-token"]
    assert hook.posted[1].json["routing_key"] == f"{CANARY}-key"
    for secret in ("token", "key", "query"):
        hook.answers.append(answer(400, body=f"what is {CANARY}-{secret}?"))
        with pytest.raises(ActionRefused, match=r"answered 400$"):
            await told.tell(NEWS)
    assert CANARY not in told.where


@pytest.mark.parametrize(
    "content", [None, "", "a\nb", "x" * 9999, "\x1b", "http://example.com/x", "https://é/"]
)
async def test_news_may_be_tried_again_when_the_url_can_not_be_read(
    tmp_path: Path, content: str | None
) -> None:
    """The message names the file and nothing in it."""
    file = tmp_path / "url"
    if content is not None:
        file.write_text(content)
    told = Webhook(WebhookConfig(url_file=file), "n")
    with pytest.raises(ActionRetryable, match=str(file)) as caught:
        await told.tell(NEWS)
    assert "example" not in str(caught.value)


@pytest.mark.parametrize(("proxy", "is_used"), [("none", False), ("environment", True)])
async def test_proxy_of_the_environment_is_used_only_when_that_is_set(
    monkeypatch: pytest.MonkeyPatch, proxy: str, *, is_used: bool
) -> None:
    """It is asked for a tunnel, so that it reads nothing."""
    async with hooked() as between:
        for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY"):
            monkeypatch.setenv(name, between.url.removesuffix("/hook"))
        monkeypatch.setenv("no_proxy", "other.invalid")
        told = Webhook(WebhookConfig(url="https://hook.invalid/x", proxy=proxy), "n")
        with pytest.raises(ActionRetryable):
            await told.tell(NEWS)
        assert [posted.line for posted in between.posted] == (
            ["CONNECT hook.invalid:443 HTTP/1.1"] if is_used else []
        )
        async with hooked() as hook:  # and on the machine itself, none is
            await Webhook(WebhookConfig(url=hook.url, proxy=proxy), "n").tell(NEWS)
            assert len(hook.posted) == 1


async def test_nothing_grows_when_the_server_hangs_for_200_notices(
    hook: Hooked, metrics: Metrics, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One connection at a time, a bounded queue, and no task is left; nor is a secret said."""
    monkeypatch.setattr(aside, "FIRST_PAUSE_S", 0.0)
    hook.answers += [HANG] * 1000
    told = Aside("webhook", webhook(hook, limit_s=0.02), metrics, clock)
    before = len(asyncio.all_tasks())
    keeping = asyncio.create_task(told.keep())
    for number in range(200):
        await told.run(in_force(f"n{number}"))
        await asyncio.sleep(0)
    await eventually(lambda: len(hook.posted) > 3)
    assert len(told._queue) <= QUEUE_LIMIT
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await hook.release()
    await eventually(lambda: len(asyncio.all_tasks()) <= before)


async def test_log_has_no_secret_when_everything_fails(
    hook: Hooked,
    clock: TurnedClock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Not even at the level debug, where aiohttp and asyncio speak as well."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(aside, "FIRST_PAUSE_S", 0.0)
    key, token = tmp_path / "key", tmp_path / "token"
    key.write_text(f"{CANARY}-key")
    token.write_text(f"Bearer {CANARY}-token")
    hook.answers += [RESET, answer(302, f"Location: {hook.url}"), b"nonsense\r\n\r\n"]
    parts = ("path", "query", "key", "token")
    hook.answers += [answer(500, body=f"{CANARY}-{part}") for part in parts] + [answer(400)]
    config = WebhookConfig(
        url=hook.url, preset="pagerduty", key_file=key, header_files=(f"Authorization={token}",)
    )
    told = Aside("webhook", Webhook(config, "n"), Metrics(), clock)
    keeping = asyncio.create_task(told.keep())
    for number in range(3):
        await told.run(in_force(f"n{number}"))
    await eventually(lambda: "news told" in caplog.text)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert caplog.text.count("news refused") == 2
    assert [part for part in parts if f"{CANARY}-{part}" in caplog.text] == []


async def test_files_are_looked_at_when_it_is_checked(hook: Hooked, tmp_path: Path) -> None:
    """And nothing is posted."""
    await webhook(hook).check()
    with pytest.raises(ActionRetryable, match=str(tmp_path)):
        await Webhook(WebhookConfig(url_file=tmp_path / "none"), "n").check()
    assert hook.posted == []
