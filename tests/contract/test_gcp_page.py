"""docs/gcp.md says what the source does."""

import re
from dataclasses import fields
from pathlib import Path

from tests.support.clocks import START
from watcher.explain.gcp import GCP_BODIES
from watcher.policy import POLICY
from watcher.sources import gcp_follow, gcp_metadata, gcp_session, gcp_windows, level, pace
from watcher.sources.gcp_config import GcpConfig
from watcher.sources.gcp_keys import LOOKS_TO_WITHDRAW
from watcher.sources.gcp_preemption import parse_maintenance_event, parse_preempted

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gcp.md").read_text()
KINDS = dict(re.findall(r"\| `([A-Z_]+)` \| `(\w+_?\w+)`.*\| \d+ s", PAGE))


def test_page_has_the_kind_of_every_word_when_compared() -> None:
    """As the parsers read it, and as the policy ranks it."""
    for word, kind in KINDS.items():
        parse = parse_preempted if word == "TRUE" else parse_maintenance_event
        notice = parse(word.encode(), START, None)
        assert notice is not None
        assert notice.kind == kind
    assert len(KINDS) == 3
    for kind in re.findall(r"\| `(\w+)`, advice only \|", PAGE):
        assert POLICY[kind].urgency == "advisory"


def test_page_has_the_figures_when_compared() -> None:
    """Those of the tables and the text are the constants."""
    for text in (
        f"stop | {gcp_windows.PREEMPTION_WINDOW_S:.0f} s, or the VM's notice",
        f"notice of up to {gcp_windows.LONGEST_NOTICE_S:.0f} s",
        f"stop | {gcp_windows.EVENT_WINDOW_S:.0f} s, with GPUs",
        f"with GPUs {gcp_windows.GPU_EVENT_WINDOW_S:.0f} s",
        f"at most {gcp_windows.UPCOMING_WINDOW_S / 86_400:.0f} days away",
        f"A wait is {gcp_metadata.HOLD_S} s long ({gcp_metadata.UPCOMING_HOLD_S} s for",
        f"given up {gcp_session.OVERDUE_S:.0f} s later",
        f"never later than {pace.SLOWEST_S:.0f} s",
        f"looked at every {gcp_follow.MISSING_EVERY_S:.0f} s",
        f"`FALSE` {level.ABSENCES_TO_WITHDRAW} times in a row",
        f"lives on {level.GRACE_S / 60:.0f} minutes after",
    ):
        assert text in PAGE.replace("\n", " ").replace("  ", " "), text
    assert LOOKS_TO_WITHDRAW == 2
    assert "two answers in a row" in PAGE


def test_page_lists_every_key_setting_and_body_of_the_metadata_server_when_read() -> None:
    """By the words that one would look for."""
    settings = {f"gcp.{one.name}" for one in fields(GcpConfig)}
    mine = {
        word
        for word in settings
        if word.startswith(("gcp.metadata", "gcp.preemption", "gcp.event"))
    }
    bodies = {"gcp-preempted", "gcp-maintenance-event", "gcp-upcoming-maintenance"}
    assert bodies <= GCP_BODIES.keys()
    words = {*gcp_metadata.KEYS, *bodies, *mine}
    assert [word for word in words if f"`{word}" not in PAGE and f" {word} " not in PAGE] == []
