"""What a rank has heard, of a node's notices and a user's request together."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.flags import put_flag, remove_flag
from tests.support.waiting import wait_until
from trainer_hooks import request_follower
from trainer_hooks.checkpoint.stop_request import ask
from trainer_hooks.flag import USER
from trainer_hooks.hearing import Hearing


def test_most_urgent_counts_when_a_user_and_a_node_have_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node's stop, then the user's, then advice; and each change is told."""
    monkeypatch.setattr(request_follower, "LOOK_EVERY_S", 0.005)
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(run_dir))
    news: list[str | None] = []
    hearing: Any = Hearing(lambda: news.append(heard()))

    def heard() -> str | None:
        notice = hearing.pending()
        return None if notice is None else notice.id

    hearing.start()
    try:
        put_flag(run_dir, notice_id="advice", urgency="advisory")
        wait_until(lambda: heard() == "advice")
        hearing.follow_requests(tmp_path, 1, lambda: 0)
        assert heard() == "advice"
        ask(tmp_path, 1, "")
        wait_until(lambda: heard() == USER)
        put_flag(run_dir, notice_id="stop")
        wait_until(lambda: heard() == "stop")
        remove_flag(run_dir)
        wait_until(lambda: heard() == USER)
    finally:
        hearing.close()
    assert news == ["advice", USER, "stop", USER]
