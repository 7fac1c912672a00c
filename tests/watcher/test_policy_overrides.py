"""What settings change in the policy, and what they may not."""

import pytest

from watcher.errors import ConfigError
from watcher.notice import NoticeKind, Urgency
from watcher.policy import POLICY
from watcher.policy_overrides import ACTIONS, CERTAIN, READERS, Override, overridden, policy_of

NODE_ACTIONS = ("flag_file", "signal", "node_mark", "cordon", "taint", "drain")


def test_policy_is_the_table_when_nothing_is_set() -> None:
    """And a kind that nothing is said of keeps its rule."""
    assert overridden({}) == POLICY
    made = overridden({NoticeKind.REBALANCE: Override(urgency=Urgency.STOP)})
    assert {kind for kind in POLICY if made[kind] != POLICY[kind]} == {NoticeKind.REBALANCE}


def test_fields_change_and_the_others_stay_when_some_are_set() -> None:
    """Each by itself."""
    stop = Override(urgency=Urgency.STOP, actions=NODE_ACTIONS, expires_s=1800)
    later = Override(lead_s=300)
    made = overridden({NoticeKind.REBALANCE: stop, NoticeKind.MAINTENANCE: later})
    rule = made[NoticeKind.REBALANCE]
    assert (rule.urgency, rule.actions, rule.expires_s) == (Urgency.STOP, NODE_ACTIONS, 1800)
    assert rule.default_window_s == POLICY[NoticeKind.REBALANCE].default_window_s
    assert made[NoticeKind.MAINTENANCE].lead_s == 300
    assert made[NoticeKind.MAINTENANCE].actions == POLICY[NoticeKind.MAINTENANCE].actions


def test_actions_are_begun_in_our_order_when_they_are_named_in_another() -> None:
    """Side by side as they run, nothing stands before those that tell the trainers."""
    backwards = Override(actions=(*reversed(NODE_ACTIONS), "cordon"))
    assert overridden({NoticeKind.PREEMPTION: backwards})[NoticeKind.PREEMPTION].actions == (
        NODE_ACTIONS
    )
    assert ACTIONS[:2] == ("flag_file", "signal")


@pytest.mark.parametrize("kind", NoticeKind)
def test_table_passes_its_own_rules(kind: NoticeKind) -> None:
    """What is refused of settings is not in the table either."""
    rule = POLICY[kind]
    same = Override(
        urgency=rule.urgency, actions=rule.actions, lead_s=rule.lead_s, expires_s=rule.expires_s
    )
    assert overridden({kind: same}) == POLICY


@pytest.mark.parametrize(
    ("kind", "override", "why"),
    [
        ("preemption", Override(actions=("signal",)), "actions has to have flag_file"),
        ("rebalance", Override(actions=()), "actions has to have flag_file"),
        *((kind, Override(urgency=Urgency.ADVISORY), "urgency has to be stop") for kind in CERTAIN),
        ("drill", Override(urgency=Urgency.ADVISORY), "urgency has to be stop"),
        ("hardware", Override(urgency=Urgency.ADVISORY), "actions can't have signal, drain"),
        ("rebalance", Override(actions=NODE_ACTIONS), "actions can't have signal, drain in it"),
        (
            "maintenance",
            Override(actions=("flag_file", "cordon", "node_replacement")),
            "node_replacement in it: the node goes",
        ),
        (
            "hardware",
            Override(actions=("flag_file", "node_replacement")),
            "cordon or taint beside node_replacement",
        ),
        (
            "live_migration",
            Override(actions=("flag_file", "cordon", "node_replacement")),
            "can't have node_replacement in it: advice",
        ),
        ("drill", Override(actions=("flag_file", "cordon")), "a drill leaves the Node alone"),
        ("shutdown", Override(actions=("flag_file", "drain")), "needs cordon or taint beside"),
        ("preemption", Override(lead_s=60), "lead_s can't be set"),
        ("preemption", Override(expires_s=3600), "expires_s can't be set"),
        ("rebalance", Override(expires_s=599), "expires_s has to be 600 or more"),
    ],
    ids=str,
)
def test_override_is_refused_with_its_key_and_origin_when_it_is_dangerous(
    kind: str, override: Override, why: str
) -> None:
    """Nobody would see it before the notice that it ruins."""
    made = Override(
        origin="/etc/x.toml",
        urgency=override.urgency,
        lead_s=override.lead_s,
        actions=override.actions,
        expires_s=override.expires_s,
    )
    with pytest.raises(ConfigError) as caught:
        overridden({NoticeKind(kind): made})
    assert str(caught.value).startswith(f"/etc/x.toml: policy.{kind}.")
    assert why in str(caught.value)


def test_uncertain_kinds_may_be_advice_when_nothing_ends_anything() -> None:
    """Failing hardware that a job would rather run on for a while."""
    calm = Override(urgency=Urgency.ADVISORY, actions=("flag_file", "node_mark", "cordon"))
    rule = overridden({NoticeKind.HARDWARE: calm})[NoticeKind.HARDWARE]
    assert rule.urgency is Urgency.ADVISORY


def test_policy_names_every_place_when_what_was_set_in_two_is_refused() -> None:
    """Either of them may be what has to be changed."""
    values = {
        "policy.rebalance.actions": ("flag_file", "signal"),
        "policy.rebalance.expires_s": 900.0,
    }
    origins = {
        "policy.rebalance.actions": "/etc/x.toml",
        "policy.rebalance.expires_s": "environment REPRIEVE_POLICY_REBALANCE_EXPIRES_S",
        "node": "command line",
    }
    with pytest.raises(ConfigError, match=r"^/etc/x.toml, environment REPRIEVE_POLICY_R\w+: "):
        policy_of(values, origins)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("flag_file", ("flag_file",)),
        ("flag_file, cordon", ("flag_file", "cordon")),
        (["flag_file", "cordon"], ("flag_file", "cordon")),
        ([], ()),
    ],
)
def test_actions_are_a_list_or_a_text_with_commas(value: object, read: tuple[str, ...]) -> None:
    """As TOML and the environment can have them."""
    assert READERS["policy.rebalance.actions"](value) == read


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("flag_fiel", r"the nearest to 'flag_fiel' is flag_file"),
        (["flag_file", "cordn"], r"the nearest to 'cordn' is cordon"),
        ("x" * 10_000, "the nearest to 'xxx"),
        ("", "a list of actions"),
        (3, "a list of actions, such as flag_file"),
        ([["flag_file"]], "a list of actions, such as flag_file"),
        (None, "a list of actions, such as flag_file"),
    ],
)
def test_actions_are_refused_with_the_nearest_when_one_is_unknown(value: object, why: str) -> None:
    """A typo is not an action less."""
    with pytest.raises(ValueError, match=why) as caught:
        READERS["policy.rebalance.actions"](value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("urgency", "Stop"),
        ("urgency", None),
        ("lead_s", 29.9),
        ("lead_s", float("nan")),
        ("lead_s", 31 * 86_400),
        ("lead_s", True),
        ("expires_s", 0),
        ("expires_s", "soon"),
    ],
)
def test_value_is_refused_when_it_makes_no_sense(field: str, value: object) -> None:
    """By the reader, which says what it had expected."""
    with pytest.raises(ValueError, match=r"one of stop, advisory|seconds, from"):
        READERS[f"policy.rebalance.{field}"](value)
