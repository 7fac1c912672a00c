"""docs/gcp.md says what the sources do that ask Google's APIs, and what the relay does."""

from dataclasses import fields
from pathlib import Path

from watcher.config import RelayConfig
from watcher.explain.gcp import GCP_BODIES
from watcher.gcp import pubsub
from watcher.gcp.library import PREEMPTED
from watcher.notice import NoticeKind
from watcher.policy import POLICY
from watcher.relay import gcp_fleet
from watcher.sources import gcp_compute, gcp_pubsub, gcp_windows
from watcher.sources.gcp_config import COMPUTE_ENDPOINT, PUBSUB_ENDPOINT, GcpConfig
from watcher.sources.gcp_entry import METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "gcp.md").read_text()
FLAT = " ".join(PAGE.split())


def test_page_states_the_numbers_that_the_code_has() -> None:
    """One that is changed in one place only would mislead."""
    lead_s = POLICY[NoticeKind.CAPACITY_END].lead_s
    assert lead_s is not None
    for text in (
        f"`instances.get` of the own VM, once every {gcp_compute.EVERY_S / 60:.0f} minutes",
        f"asks again {gcp_compute.EVERY_S / 60:.0f} minutes later",
        f"that instant; the trainers are told {lead_s / 60:.0f} minutes before",
        f"has outlived it by {gcp_pubsub.OVER_AFTER_S[NoticeKind.PREEMPTION] / 60:.0f} minutes",
        f"VMs every {gcp_compute.EVERY_S / 60:.0f} minutes and about `{PREEMPTED}` operations",
        f"`gcp.compute_endpoint` | `{COMPUTE_ENDPOINT}` |",
        f"`gcp.pubsub_endpoint` | `{PUBSUB_ENDPOINT}` |",
    ):
        assert text in FLAT, text
    assert set(gcp_pubsub.OVER_AFTER_S.values()) == {300.0}
    assert gcp_fleet.OPERATIONS_EVERY_S == 60
    assert pubsub.PULL_LIMIT_S > 90
    assert gcp_windows.LONGEST_NOTICE_S == 120
    assert GcpConfig().compute == "auto"


def test_page_has_a_row_for_every_method_with_its_kind_and_window() -> None:
    """And for no other."""
    for method, act in METHODS.items():
        (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{method}` |"))
        assert f"`{act.kind}`" in row
        assert ("none" if act.window_s is None else f"{act.window_s:.0f} s after") in row


def test_page_lists_every_setting_and_body_of_the_apis() -> None:
    """By the words that one would look for."""
    settings = {f"gcp.{one.name}" for one in fields(GcpConfig)}
    settings |= {f"relay.{one.name}" for one in fields(RelayConfig) if one.name != "handler"}
    mine = {word for word in settings if word.startswith(("gcp.compute", "gcp.sub", "gcp.pubsub"))}
    mine |= {word for word in settings if word in ("relay.subscription", "relay.gcp_fleet")}
    assert len(mine) == 6
    bodies = {"gcp-instance", "gcp-pubsub"}
    assert bodies <= GCP_BODIES.keys()
    assert [word for word in mine | bodies if f"`{word}" not in PAGE] == []
