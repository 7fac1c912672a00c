"""The status page: what stands on it, and that nothing that others say is more than text."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.support.clocks import TurnedClock
from tests.support.served_faces import served_faces
from watcher.cloud import Cloud
from watcher.faces.page import page
from watcher.faces.page_frame import HEADERS
from watcher.faces.state_view import Sights, StateView
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.policy import stand
from watcher.state import ActionRecord, State
from watcher.trainers import Trainer, Trainers, TrainerState

HOSTILE = "<img src=x onerror=alert(1)>\"'\x1b[31m</main><script>alert(1)</script>"


class Seen(HTMLParser):
    """The tags of a page, and its text without style and script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self.tags.append(tag)
        self._inside = tag

    def handle_endtag(self, _tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("style", "script"):
            self.words += data + " "


def document(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - parts of any shape
    """Return what /v1/state says on a quiet day, with these changes."""
    quiet = {
        "node": "node-a",
        "cloud": {"name": "aws", "why": "proved by an id"},
        "now_unix_s": 1000.0,
        "ready": True,
        "sources": {},
        "in_force": [],
        "planned": [],
        "past": [],
        "trainers": {"found": [], "refused": {}, "unknown": None},
    }
    return {**quiet, **changes}


def notice(kind: str, urgency: str) -> dict[str, Any]:
    """Return a notice as the document has it."""
    return {
        "id": "n-1",
        "kind": kind,
        "urgency": urgency,
        "source": "aws_imds",
        "received_unix_s": 990.0,
        "deadline_unix_s": 1110.0,
        "counts_until_unix_s": 1110.0,
        "actions": {},
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "No notice is in force"),
        ({"ready": False}, "Unknown: not everything can be heard"),
        ({"in_force": [notice("preemption", "stop")]}, "This node is being taken"),
        ({"in_force": [notice("rebalance", "advisory")]}, "Advice is in force"),
        ({"in_force": [notice("drill", "stop")]}, "A drill is running"),
        (
            {"ready": False, "in_force": [notice("preemption", "stop")]},
            "This node is being taken",
        ),
    ],
)
def test_verdict_is_what_matters_most(changes: dict[str, Any], verdict: str) -> None:
    """In the title too, for whoever has many tabs."""
    text = page(document(**changes))
    assert f'role="status">{verdict}</p>' in text
    assert f"<title>node-a: {verdict}</title>" in text
    assert ("the node stays" in text) == ("drill" in str(changes))


def test_page_counts_down_when_a_notice_is_in_force() -> None:
    """Without the script too: it was right when it was sent."""
    text = page(document(in_force=[notice("preemption", "stop")]))
    assert '<b data-until="1110.000">1 min 50 s left</b>' in text
    assert '<main data-now="1000.000">' in text


async def shown(state: State, clock: TurnedClock, said: Trainers) -> str:
    """Ask a daemon for its page."""

    async def look() -> Trainers:
        return said

    sights = Sights(healths=(), blind_limit_s=10.0, board=None, look=look)
    view = StateView(HOSTILE, Cloud("aws", HOSTILE), sights, state, clock)
    async with served_faces({"/": view.page}) as faces:
        status, body = await faces.ask("/")
    assert status == 200
    return body


async def test_words_of_others_are_text_only_when_they_are_hostile(clock: TurnedClock) -> None:
    """Of a trainer, a file name, a cloud and an action; nothing of them is a tag or a command."""
    trainer = Trainer(
        id=HOSTILE,
        pod_uid="",
        state=TrainerState.RUNNING,
        heartbeat_s=clock().boottime_s,
        step=7,
        committed_step=5,
    )
    state = State()
    heard = Notice(
        id=HOSTILE,
        kind=NoticeKind.PREEMPTION,
        source="aws_imds",
        received=clock(),
        deadline=Deadline.after(clock(), 120),
    )
    entry = state.admit(stand(heard), clock())
    assert entry is not None
    entry.actions["flag_file"] = ActionRecord("failed", clock(), HOSTILE, 1)
    body = await shown(state, clock, Trainers(found=(trainer,), refused={HOSTILE: HOSTILE}))
    seen = Seen(body)
    assert "img" not in seen.tags
    assert seen.tags.count("script") == 1
    assert seen.tags.count("main") == 1
    assert "\x1b" not in body
    assert seen.words.count("<img src=x onerror=alert(1)>") >= 6  # in the title and each cell


async def test_only_our_own_style_and_script_run_when_a_browser_shows_it(
    clock: TurnedClock,
) -> None:
    """The policy names them by hash, and nothing is loaded from elsewhere."""
    body = await shown(State(), clock, Trainers())
    policy = HEADERS["Content-Security-Policy"]
    for tag in ("style", "script"):
        [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", body, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.findall(r"(?:src|href)=\"(?!/)", body)
    assert not re.findall(r"<[^>]* (?:on\w+|style)=", re.sub(r"<script>.*", "", body))
