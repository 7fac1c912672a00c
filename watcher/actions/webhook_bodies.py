"""What is posted to Slack, Teams, PagerDuty and others: the news in the words of each; pure.

Bodies are built as objects and written as JSON at the end, so nothing that a cloud has said can end
its string. Nor can it format, link or mention: it goes where markup is not understood.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from watcher.actions.webhook_template import filled

JSON, SLACK, TEAMS, PAGERDUTY = "json", "slack", "teams", "pagerduty"

Document = Mapping[str, object]

_DEDUP_LIMIT_CHARS = 255
_SUMMARY_LIMIT_CHARS = 1024


def body(preset: str, template: str | None, news: Document, key: str) -> bytes:
    """Return what is posted for the news, which are fields as :mod:`watcher.actions.news` has them.

    Args:
        preset: One of PRESETS.
        template: A template of one's own, which then counts instead.
        news: The fields.
        key: What PagerDuty is told it by; others take none.
    """
    made = PRESETS[preset](news, key) if template is None else filled(template, news)
    # ASCII only, so that it is the same in every encoding that a server may assume.
    return json.dumps(made).encode("ascii")


def _json(news: Document, _key: str) -> object:
    return news


def _slack(news: Document, _key: str) -> object:
    """Build a message: the text for notifications, and a block of plain text.

    Source: Slack developer documentation, "Sending messages using incoming webhooks", "Text object"
    (plain_text: no markup) and "Formatting message text" (what is escaped in ``text``) (read
    2026-11-30).
    """
    text = str(news["text"])
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = [{"type": "plain_text", "text": one, "emoji": False} for one in (text, _small(news))]
    return {
        "text": escaped,
        "blocks": [
            {"type": "section", "text": plain[0]},
            {"type": "context", "elements": plain[1:]},
        ],
    }


def _teams(news: Document, _key: str) -> object:
    """Build a message with an Adaptive Card, for a workflow that starts with a webhook request.

    Source: Microsoft Teams documentation, "Create and send messages" (type, attachments,
    contentType; workflows take Adaptive Cards only); Adaptive Cards schema explorer, TextRun
    ("Markdown is not supported", since version 1.2) (read 2026-11-30).
    """
    large = {"type": "TextRun", "text": news["text"], "weight": "Bolder"}
    small = {"type": "TextRun", "text": _small(news), "isSubtle": True}
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",
        "body": [{"type": "RichTextBlock", "inlines": [run]} for run in (large, small)],
    }
    return {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": None,
                "content": card,
            }
        ],
    }


def _pagerduty(news: Document, key: str) -> object:
    """Build an event of the Events API v2: a notice in force triggers, its withdrawal resolves.

    Source: PagerDuty developer documentation, "Send an Alert Event" (fields, their limits, what a
    dedup_key does) (read 2026-11-30).
    """
    event = {"routing_key": key, "dedup_key": _dedup_key(news)}
    if news["state"] == "withdrawn":
        return {**event, "event_action": "resolve"}
    severity = "error" if news["urgency"] == "stop" else "warning"
    payload = {
        "summary": str(news["text"])[:_SUMMARY_LIMIT_CHARS],
        "source": news["node"],
        "severity": "info" if news["drill"] else severity,
        "timestamp": news["received_at"],
        "class": news["kind"],
        "custom_details": news,
    }
    return {**event, "event_action": "trigger", "payload": payload}


def _dedup_key(news: Document) -> str:
    """Return what is the same for both news of a notice, and of no other node's."""
    whole = f"reprieve/{news['node']}/{news['id']}"
    if len(whole) <= _DEDUP_LIMIT_CHARS:
        return whole
    return "reprieve/" + hashlib.sha256(whole.encode()).hexdigest()


def _small(news: Document) -> str:
    instance = f", instance {news['instance_id']}" if news["instance_id"] else ""
    return f"notice {news['id']}{instance}, received {news['received_at']}"


PRESETS: Mapping[str, Callable[[Document, str], object]] = MappingProxyType(
    {JSON: _json, SLACK: _slack, TEAMS: _teams, PAGERDUTY: _pagerduty}
)
"""By the word in the settings."""
