"""Whose words a setting stands for, and what would be nobody's or somebody else's."""

import pytest

from watcher.kube.replacement import PRESETS, AskPlace, ask_of, setting_of


def test_nobody_is_asked_when_it_is_off() -> None:
    """The default."""
    assert ask_of("off") is None


@pytest.mark.parametrize(
    ("setting", "reason", "words"),
    [
        (
            "hyperpod",
            "straggler",
            "sagemaker.amazonaws.com/node-health-status=UnschedulablePendingReplacement",
        ),
        ("gke", "straggler", "cloud.google.com/fault-behavior=PERFORMANCE"),
        ("gke", "digest", "cloud.google.com/fault-behavior=SDC"),
        ("gke", "loss", "cloud.google.com/fault-behavior=unspecified"),
        ("gke", "", "cloud.google.com/fault-behavior=unspecified"),
        ("label:example.com/replace=true", "digest", "example.com/replace=true"),
        ("label:replace=Now-1", "digest", "replace=Now-1"),
        ("condition:NodeFaulty=True", "digest", "NodeFaulty=True"),
        ("condition:AcceleratedHardwareReady=False", "", "AcceleratedHardwareReady=False"),
    ],
)
def test_setting_stands_for_what_its_reader_documents(
    setting: str, reason: str, words: str
) -> None:
    """By the reason where the reader tells reasons apart."""
    ask = ask_of(setting_of(setting))
    assert ask is not None
    assert f"{ask.key}={ask.value_for(reason)}" == words
    assert ask.value_for(reason) in ask.values()
    assert (ask.place is AskPlace.CONDITION) == setting.startswith("condition:")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "on",
        "HyperPod",
        "label:",
        "label:a",
        "label:=b",
        "label:a=",
        "label:a=b=c",
        "label:a b=c",
        "label:/a=b",
        "label:UPPER.example/a=b",
        f"label:{'a' * 64}=b",
        f"label:a={'b' * 64}",
        "label:a=b\n",
        "condition:A",
        "condition:A=maybe",
        "condition:a/b=True",
        "condition:A=True\n",
    ],
)
def test_setting_is_refused_when_the_api_server_or_nobody_would_take_it(value: object) -> None:
    """At the start, and not when a node is to be replaced."""
    with pytest.raises(ValueError, match="off, hyperpod, gke, label:KEY=VALUE"):
        setting_of(value)


@pytest.mark.parametrize(
    "setting",
    [
        "label:reprieve.dev/state=x",
        "label:kubernetes.io/hostname=x",
        "label:node.kubernetes.io/exclude-from-external-load-balancers=true",
        "condition:Ready=False",
        "condition:DiskPressure=True",
        "condition:ReclaimPending=True",
    ],
)
def test_setting_is_refused_when_the_word_has_an_owner(setting: str) -> None:
    """Kubernetes would act on it, or the kubelet write over it."""
    with pytest.raises(ValueError, match=r"neither ours nor|has an owner"):
        setting_of(setting)


def test_values_are_labels_that_kubernetes_takes() -> None:
    """Each preset is also what one could write by hand."""
    for ask in PRESETS.values():
        for value in ask.values():
            assert ask_of(f"label:{ask.key}={value}") is not None
