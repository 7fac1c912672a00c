"""What settings change in the policy, and which changes are refused; pure.

Refused is what would take from trainers or pods what the rest rests on: to be told, to be told in
time, and not to be sent to a Node that is about to go.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from watcher import setting_values
from watcher.errors import ConfigError
from watcher.notice import NoticeKind, Urgency
from watcher.policy import POLICY, Policy, Rule

ACTIONS = tuple(dict.fromkeys(name for rule in POLICY.values() for name in rule.actions))
"""Every action by its name, in the order in which they are begun: who tells the trainers first."""

LEAST_LEAD_S = 30.0
"""Shortest lead, in seconds: the shortest window that any cloud gives for a whole machine."""

LONGEST_S = 30 * 86_400.0
"""Longest time that can be set, in seconds; clouds announce work about two weeks ahead."""

CERTAIN = frozenset(
    {
        NoticeKind.PREEMPTION,
        NoticeKind.TERMINATION,
        NoticeKind.CAPACITY_END,
        NoticeKind.MAINTENANCE,
        NoticeKind.SHUTDOWN,
    }
)
"""Kinds after which the node is gone: for whoever is not stopped, its peers wait in vain."""

_EVICTING = ("drain", "no_execute", "node_replacement")
"""Actions that end pods which would come back."""

_ENDING = ("signal", *_EVICTING, "lifecycle_hook")
"""Actions that end processes, pods or the machine."""

_KEEPING_OFF = ("cordon", "taint")
"""Actions of which one has to be there, or evicted pods come back."""

_ON_NODE = ("node_mark", "cordon", "taint", "lb_exclusion", *_EVICTING, "lifecycle_hook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What settings say of one kind; None leaves what the table has.

    Attributes:
        origin: Where it was set, for people.
        urgency: Whether trainers stop or go on.
        lead_s: How long before a deadline that is known well ahead it comes in force, in seconds.
        actions: Who acts on it, in any order.
        expires_s: How long what is done to the Node stays, in seconds.
    """

    origin: str = ""
    urgency: Urgency | None = None
    lead_s: float | None = None
    actions: tuple[str, ...] | None = None
    expires_s: float | None = None


def _urgency(value: object) -> Urgency:
    return Urgency(setting_values.one_of(*Urgency)(value))


def _actions(value: object) -> tuple[str, ...]:
    """Return names, from a list or from a text that separates them by commas."""
    words = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("a list of actions, such as " + ", ".join(ACTIONS))
    for word in words:
        if word not in ACTIONS:
            nearest = difflib.get_close_matches(word[:80], ACTIONS, n=1, cutoff=0.0)[0]
            raise ValueError(f"a list of actions (the nearest to {word!r:.40} is {nearest})")
    return tuple(words)


_FIELDS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "urgency": _urgency,
        "lead_s": setting_values.between(LEAST_LEAD_S, LONGEST_S),
        "actions": _actions,
        "expires_s": setting_values.between(1.0, LONGEST_S),
    }
)

READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {f"policy.{kind}.{field}": reader for kind in NoticeKind for field, reader in _FIELDS.items()}
)
"""Every key of the settings and what reads it; a ValueError says what it had expected."""


def policy_of(values: Mapping[str, Any], origins: Mapping[str, str]) -> Policy:
    """Return the policy that settings make, of their values and origins by key.

    Raises:
        ConfigError: What is set is refused.
    """
    overrides = {}
    for kind in NoticeKind:
        fields = {name: values.get(f"policy.{kind}.{name}") for name in _FIELDS}
        keys = [f"policy.{kind}.{name}" for name in _FIELDS]
        if made := dict.fromkeys(origins[key] for key in keys if key in origins):
            overrides[kind] = Override(origin=", ".join(made), **fields)
    return overridden(overrides)


def overridden(overrides: Mapping[NoticeKind, Override], table: Policy = POLICY) -> Policy:
    """Return the table with what settings change in it.

    Raises:
        ConfigError: A change, or what it comes to together with the rest, is refused.
    """
    changed = {kind: _changed(kind, table[kind], one) for kind, one in overrides.items()}
    return MappingProxyType({**table, **changed})


def _changed(kind: NoticeKind, rule: Rule, override: Override) -> Rule:
    given = {name: getattr(override, name) for name in _FIELDS}
    made = replace(rule, **{name: value for name, value in given.items() if value is not None})
    # In our own order: side by side as they are, the first is begun first.
    made = replace(made, actions=tuple(name for name in ACTIONS if name in made.actions))
    if why := _times(rule, override) or _telling(kind, made) or _acting(kind, made):
        raise ConfigError(f"{override.origin}: policy.{kind}.{why}")
    return made


def _times(rule: Rule, override: Override) -> str:
    """Return which of the times is refused and why, if one is."""
    if override.lead_s is not None and rule.lead_s is None:
        return "lead_s can't be set: a notice of this kind is acted on as soon as it is heard"
    if override.expires_s is None:
        return ""
    if rule.expires_s is None:
        return "expires_s can't be set: what is done to the Node stays until the notice is over"
    if override.expires_s < rule.default_window_s:
        return f"expires_s has to be {rule.default_window_s:.0f} or more, the kind's own window"
    return ""


def _telling(kind: NoticeKind, rule: Rule) -> str:
    """Return what is refused because trainers would not hear what they have to, if anything is."""
    if "flag_file" not in rule.actions:
        return "actions has to have flag_file in it: it is how trainers hear of a notice"
    if rule.urgency is Urgency.STOP:
        return ""
    if kind in CERTAIN or kind is NoticeKind.DRILL:
        return "urgency has to be stop: trainers that go on would be cut off with the node"
    if ending := [name for name in rule.actions if name in _ENDING]:
        return f"actions can't have {', '.join(ending)} in it: advice ends nothing. Set urgency too"
    return ""


def _acting(kind: NoticeKind, rule: Rule) -> str:
    """Return what is refused because of the Node, if anything is."""
    on_node = [name for name in rule.actions if name in _ON_NODE]
    if kind is NoticeKind.DRILL and on_node:
        return f"actions can't have {', '.join(on_node)} in it: a drill leaves the Node alone"
    if kind in CERTAIN and "node_replacement" in rule.actions:
        return "actions can't have node_replacement in it: the node goes without being asked for"
    evicting = [name for name in _EVICTING if name in rule.actions]
    if evicting and not any(name in rule.actions for name in _KEEPING_OFF):
        return f"actions needs cordon or taint beside {evicting[0]}: evicted pods would come back"
    return ""
