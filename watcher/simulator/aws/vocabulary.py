"""The changes of an EC2 instance in words."""

from types import MappingProxyType

from watcher.simulator.aws.changes import (
    EventEnd,
    MaintenanceEnded,
    MaintenanceScheduled,
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    SpotAction,
    TargetStateSet,
    TokensExpired,
)
from watcher.simulator.aws.options import MAX_HOPS, HttpEndpoint, HttpTokens, OptionsModified
from watcher.simulator.changes import Change
from watcher.simulator.values import (
    ScenarioError,
    one_of,
    seconds,
    signed_seconds,
    text,
    whole,
    yes_or_no,
)
from watcher.simulator.vocabulary import SHARED_WORDS, Fields, Word, Words

DEFAULT_EVENT_ID = "instance-event-0123456789abcdef0"

MAINTENANCE_NOTICE_S = 14 * 86_400
"""Seconds from announcement to start. Source: AWS Health event schema (read 2026-11-30): about
two weeks ahead."""

EXPIRE_TOKENS = "expire_tokens"
"""The kind of fault that happens to the tokens, once, and to no request."""

OPTION_FIELDS = ("http_tokens", "http_endpoint", "hop_limit")


def _notice(at_s: float, fields: Fields) -> NoticeIssued:
    action = one_of("the action", fields.get("action", SpotAction.TERMINATE), SpotAction)
    return NoticeIssued(
        at_s=at_s,
        action=action,
        window_s=seconds("window_s", fields.get("window_s", action.window_s)),
        ago_s=seconds("ago_s", fields.get("ago_s", 0)),
        is_sliding=yes_or_no("sliding", fields.get("sliding", False)),
    )


def _rebalance(at_s: float, fields: Fields) -> RebalanceRecommended:
    is_sliding = yes_or_no("sliding", fields.get("sliding", False))
    return RebalanceRecommended(at_s=at_s, is_sliding=is_sliding)


def _maintenance(at_s: float, fields: Fields) -> MaintenanceScheduled:
    code = text("code", fields.get("code", "system-reboot"))
    description = f"scheduled {code.rpartition('-')[2]}"
    not_before_s = signed_seconds("not_before_s", fields.get("not_before_s", MAINTENANCE_NOTICE_S))
    not_after_s = _optional_seconds("not_after_s", fields)
    is_not_after_empty = yes_or_no("empty_not_after", fields.get("empty_not_after", False))
    if not_after_s is not None and (is_not_after_empty or not_after_s < not_before_s):
        raise ScenarioError("not_after_s must be not_before_s or later, without empty_not_after")
    return MaintenanceScheduled(
        at_s=at_s,
        event_id=text("event_id", fields.get("event_id", DEFAULT_EVENT_ID)),
        code=code,
        description=text("description", fields.get("description", description)),
        not_before_s=not_before_s,
        not_after_s=not_after_s,
        not_before_deadline_s=_optional_seconds("not_before_deadline_s", fields),
        is_not_after_empty=is_not_after_empty,
    )


def _optional_seconds(name: str, fields: Fields) -> float | None:
    return signed_seconds(name, fields[name]) if name in fields else None


def _maintenance_end(at_s: float, fields: Fields) -> MaintenanceEnded:
    return MaintenanceEnded(
        at_s=at_s,
        event_id=text("event_id", fields.get("event_id", DEFAULT_EVENT_ID)),
        state=one_of("state", fields.get("state"), EventEnd),
        stays_listed=yes_or_no("stays_listed", fields.get("stays_listed", False)),
    )


def options_modified(at_s: float, fields: Fields) -> OptionsModified:
    """Read metadata options; those that are not named stay as they are.

    Raises:
        ScenarioError: An option has no such value.
    """
    tokens, endpoint = fields.get("http_tokens"), fields.get("http_endpoint")
    hop_limit = fields.get("hop_limit")
    return OptionsModified(
        at_s=at_s,
        http_tokens=None if tokens is None else one_of("http_tokens", tokens, HttpTokens),
        http_endpoint=None if endpoint is None else one_of("http_endpoint", endpoint, HttpEndpoint),
        hop_limit=None if hop_limit is None else whole("hop_limit", hop_limit, 1, MAX_HOPS),
    )


def _fault(at_s: float, fields: Fields) -> Change:
    if fields.get("kind") != EXPIRE_TOKENS:
        return SHARED_WORDS["fault"].make(at_s, fields)
    if len(fields) > 1:
        raise ScenarioError(f"{EXPIRE_TOKENS} happens at once and takes no other field")
    return TokensExpired(at_s=at_s)


WORDS: Words = MappingProxyType(
    {
        "notice": Word(("action", "window_s", "ago_s", "sliding"), _notice),
        "withdraw": Word((), lambda at_s, _: NoticeWithdrawn(at_s=at_s)),
        "rebalance": Word(("sliding",), _rebalance),
        "maintenance": Word(
            (
                *("event_id", "code", "description", "not_before_s", "not_after_s"),
                *("empty_not_after", "not_before_deadline_s"),
            ),
            _maintenance,
        ),
        "maintenance_end": Word(("event_id", "state", "stays_listed"), _maintenance_end),
        "asg": Word(
            ("target_state",),
            lambda at_s, fields: TargetStateSet(
                at_s=at_s, state=text("target_state", fields.get("target_state"))
            ),
        ),
        "metadata_options": Word(OPTION_FIELDS, options_modified),
        **SHARED_WORDS,
        "fault": Word(SHARED_WORDS["fault"].fields, _fault),
    }
)
"""Every change there is, by its name."""
