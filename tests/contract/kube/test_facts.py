"""Facts measured on a real kube-apiserver 1.36, and which test holds the fake to each of them."""

import re
from pathlib import Path

import pytest

FACTS: dict[str, tuple[str, ...]] = {
    "1 eviction: 201, 404 for a missing pod, 201 again for a terminating one": (
        "eviction_is_granted_again_when_the_pod_is_already_terminating",
        "eviction_is_not_found_when_the_pod_is_missing",
    ),
    "2 an exhausted budget: 429 with a cause, without Retry-After": (
        "eviction_is_refused_when_the_budget_is_exhausted",
    ),
    "3 a budget that was never observed: 429 with Retry-After: 10": (
        "eviction_is_put_off_when_the_budget_was_never_observed",
    ),
    "4 each granted eviction uses up the budget": (
        "budget_is_used_up_by_each_eviction_that_it_grants",
    ),
    "5 pending pods go whatever the budget says": (
        "eviction_ignores_the_budget_when_the_pod_does_not_run",
    ),
    "6 a pod on a node is only asked to end, and gone after the kubelet or a grace of 0": (
        "deletion_only_asks_the_pod_to_end_when_it_is_on_a_node",
        "pod_is_removed_at_once_when_it_is_on_no_node",
        "pod_is_removed_at_once_when_the_grace_is_zero",
        "grace_is_shortened_by_a_later_call_from_the_first_one_on",
    ),
    "7 a stale version 409, RBAC 403, an unknown field under strict validation 400": (
        "put_conflicts_when_the_resource_version_is_stale",
        "request_is_forbidden_when_no_rule_allows_it",
        "request_is_refused_when_the_token_is_not_good_any_more",
        "unknown_field_is_refused_only_under_strict_validation",
    ),
    "8 an expired watch: 200, and an ERROR of 410 in the stream": (
        "watch_is_told_410_when_its_version_is_forgotten",
    ),
    "9 field selectors, and bookmarks when asked for": (
        "list_is_narrowed_by_the_field_selectors_that_we_need",
        "pod_comes_and_goes_when_the_selection_is_by_its_node",
        "watch_sends_a_bookmark_when_it_was_asked_for",
    ),
    "10 taints are one value: replaced by every patch, unique, no spaces": (
        "taints_are_replaced_as_a_list_when_they_are_patched",
        "json_patch_adds_a_taint_only_where_there_is_a_list",
        "merge_patch_conflicts_only_when_it_says_a_stale_version",
        "taints_are_refused_when_they_make_no_sense",
    ),
    "11 conditions through the status alone": (
        "conditions_are_ignored_when_they_do_not_come_through_status",
    ),
    "12 Events about a Node in the namespace default": (
        "event_about_a_node_is_taken_only_in_default",
    ),
    "13 the first grace may be longer, later ones shorter; negative is 1; another uid 409": (
        "grace_is_above_the_pods_own_when_the_first_call_says_so",
        "grace_is_a_second_when_it_is_negative",
        "deletion_conflicts_when_the_uid_is_another_pods",
        "eviction_conflicts_when_the_uid_is_another_pods",
    ),
    "14 two budgets: 500 for ever": ("eviction_fails_for_ever_when_two_budgets_cover_the_pod",),
    "15 an eviction says DisruptionTarget, a delete says nothing": (
        "delete_sets_no_condition_where_an_eviction_does",
    ),
    "16 only admission knows the own Node; an eviction it can't judge; dry runs work": (
        "admission_holds_a_bound_token_to_its_own_node",
        "eviction_changes_nothing_when_it_is_a_dry_run",
    ),
    "18 DaemonSets' pods and the kubelet's own are there again, finished ones need nothing": (
        "pod_is_there_again_when_it_is_a_daemonsets_or_the_kubelets_own",
        "eviction_ignores_the_budget_when_the_pod_does_not_run",
    ),
    "19 a Lease is lost by a stale version": ("lease_is_lost_when_another_has_renewed_it",),
}
"""By number and in short. 17, how long a GET and a PATCH take, is for a bench to measure, and 20 is
about another library."""

TESTS = {
    name
    for path in Path(__file__).parent.glob("test_*.py")
    for name in re.findall(r"^(?:async )?def test_(\w+)", path.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("fact", FACTS)
def test_fact_has_its_tests(fact: str) -> None:
    """Each of them is here, in one of the files beside this."""
    assert set(FACTS[fact]) <= TESTS


def test_facts_are_numbered_and_whole() -> None:
    """As they were measured."""
    numbers = {int(fact.split()[0]) for fact in FACTS}
    assert numbers == {*range(1, 21)} - {17, 20}
