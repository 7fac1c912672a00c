"""Bodies of posts, held against what Slack, Teams and PagerDuty document."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.standings import in_force
from watcher.actions.news import News, document
from watcher.actions.webhook_bodies import PRESETS, body
from watcher.notice import NoticeKind

HOSTILE = '<!channel> <https://evil.example|x> & **b** [l](https://evil.example) {text} "}],\n"x'


def news(
    kind: NoticeKind = NoticeKind.PREEMPTION, name: str = "spot-1", *, is_withdrawal: bool = False
) -> dict[str, object]:
    """Return the fields of news of a node."""
    return document(News(in_force(name, kind), is_withdrawal), "node-7")


def hostile(words: str = HOSTILE) -> dict[str, object]:
    """Return the fields of news in which the cloud says these words."""
    standing = in_force()
    said = replace(standing.notice, id=words, action=words, instance_id=words, detail={"a": words})
    return document(News(replace(standing, notice=said)), "node-7")


def made(preset: str, fields: dict[str, object]) -> object:
    """Return what would be posted, as its receiver reads it."""
    return json.loads(body(preset, None, fields, "k" * 32))


def test_slack_gets_a_text_and_plain_blocks_when_a_notice_comes() -> None:
    """In the text what would link or mention is escaped; the blocks know no markup."""
    fields = hostile()
    message = made("slack", fields)
    assert isinstance(message, dict)
    assert set(message) == {"text", "blocks"}
    assert "&lt;!channel&gt;" in message["text"]
    assert not set("<>") & set(message["text"])
    section, context = message["blocks"]
    assert section == {
        "type": "section",
        "text": {"type": "plain_text", "text": fields["text"], "emoji": False},
    }
    assert context["type"] == "context"
    assert [one["type"] for one in context["elements"]] == ["plain_text"]
    assert all(0 < len(one["text"]) <= 3000 for one in (section["text"], *context["elements"]))


def test_teams_gets_a_message_with_a_card_of_plain_text_when_a_notice_comes() -> None:
    """TextRun is what knows no Markdown."""
    fields = hostile()
    message = made("teams", fields)
    assert isinstance(message, dict)
    assert message["type"] == "message"
    (attachment,) = message["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.2")
    runs = [run for block in card["body"] for run in block["inlines"]]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert {run["type"] for run in runs} == {"TextRun"}
    assert runs[0]["text"] == fields["text"]


def test_pagerduty_gets_a_trigger_and_a_resolve_when_a_notice_comes_and_goes() -> None:
    """Under one key, which no other node has."""
    trigger, resolve = made("pagerduty", news()), made("pagerduty", news(is_withdrawal=True))
    assert trigger == {
        "routing_key": "k" * 32,
        "dedup_key": "reprieve/node-7/spot-1",
        "event_action": "trigger",
        "payload": {
            "summary": news()["text"],
            "source": "node-7",
            "severity": "error",
            "timestamp": "2026-11-30T10:05:06Z",
            "class": "preemption",
            "custom_details": news(),
        },
    }
    assert resolve == {
        "routing_key": "k" * 32,
        "dedup_key": "reprieve/node-7/spot-1",
        "event_action": "resolve",
    }


@pytest.mark.parametrize(
    ("kind", "severity"),
    [(NoticeKind.HARDWARE, "error"), (NoticeKind.REBALANCE, "warning"), (NoticeKind.DRILL, "info")],
)
def test_pagerduty_is_told_how_bad_it_is_when_kinds_differ(kind: NoticeKind, severity: str) -> None:
    """A drill is for information, and the summary says that it is one."""
    event = made("pagerduty", news(kind))
    assert isinstance(event, dict)
    assert event["payload"]["severity"] == severity
    assert event["payload"]["summary"].startswith("DRILL") == (kind is NoticeKind.DRILL)


def test_pagerduty_keeps_to_its_limits_when_an_id_is_long() -> None:
    """The key is short, and still another one for another notice."""
    keys = set()
    for last in "ab":
        event = made("pagerduty", news(name="x" * 250 + last))
        assert isinstance(event, dict)
        assert len(event["dedup_key"]) <= 255
        assert len(event["payload"]["summary"]) <= 1024
        keys.add(event["dedup_key"])
    assert len(keys) == 2


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", NoticeKind)
def test_every_body_marks_a_drill_and_no_other_when_kinds_differ(
    preset: str, kind: NoticeKind
) -> None:
    """Nobody should be frightened, nor be calm, for nothing."""
    data = body(preset, None, news(kind), "k")
    assert (b"DRILL" in data) == (kind is NoticeKind.DRILL)


@given(words=st.text(max_size=300))
@pytest.mark.parametrize("preset", PRESETS)
def test_words_never_leave_their_string_when_a_cloud_says_anything(preset: str, words: str) -> None:
    """The body has the same shape whatever is said, and is ASCII."""
    fields = hostile(words)
    data = body(preset, None, fields, "k")
    assert shape(json.loads(data)) == shape(json.loads(body(preset, None, hostile("a"), "k")))
    template = '{"a": "<{action}>", "b": ["{detail}", 1]}'
    assert json.loads(body("json", template, fields, "")) == {
        "a": f"<{fields['action'] or ''}>",
        "b": [fields["detail"], 1],
    }


def shape(value: object) -> object:
    """Return what is left of JSON when its texts are taken out."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__
