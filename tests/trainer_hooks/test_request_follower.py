"""Looking for a user's request: it is heard once, confirmed, and unknown is no request."""

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from trainer_hooks import request_follower
from trainer_hooks.checkpoint.stop_request import ask, asked, heard_at
from trainer_hooks.flag import USER
from trainer_hooks.request_follower import RequestFollower


class Followed:
    """A follower of attempt 7, which is at step 40."""

    def __init__(self, root: Path) -> None:
        self.news = 0
        self.follower = RequestFollower(root, 7, self._note, lambda: 40)

    def _note(self) -> None:
        self.news += 1


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look all the time."""
    monkeypatch.setattr(request_follower, "LOOK_EVERY_S", 0.005)


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    """One that has begun to look."""
    followed = Followed(tmp_path)
    followed.follower.start()
    yield followed
    followed.follower.close()


def test_request_is_a_stop_without_a_deadline_when_a_user_asks(
    followed: Followed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Told once, with time for a save, and the user learns that it was heard."""
    assert followed.follower.notice() is None
    ask(tmp_path, 7, "enough")
    wait_until(lambda: heard_at(tmp_path, 7) == 40)
    notice = followed.follower.notice()
    assert notice is not None
    assert (notice.id, notice.is_stop, notice.deadline_s) == (USER, True, None)
    assert notice.window_s > 3600
    assert followed.news == 1
    assert "enough" in caplog.text


def test_nothing_is_heard_when_another_attempt_is_asked(followed: Followed, tmp_path: Path) -> None:
    """What earlier ones were asked is cleared away."""
    ask(tmp_path, 8, "")
    ask(tmp_path, 6, "")
    again = Followed(tmp_path)
    again.follower.start()
    wait_until(lambda: asked(tmp_path, 6) is None)
    again.follower.close()
    assert followed.follower.notice() is None
    assert followed.news == 0


def test_it_is_asked_again_and_said_once_when_the_storage_fails(
    followed: Followed,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unknown is no request; and a request that comes later is heard."""

    def fail(path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error", str(path))

    with monkeypatch.context() as failing:
        failing.setattr(Path, "lstat", fail)
        wait_until(lambda: "is unknown" in caplog.text)
        assert followed.follower.notice() is None
    ask(tmp_path, 7, "")
    wait_until(followed.follower.notice)
    assert caplog.text.count("is unknown") == 1


def test_stop_is_heard_when_the_user_cannot_be_told(
    followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The news comes first."""
    order: list[str] = []
    done = threading.Event()

    def confirm(*_: object) -> None:
        order.append(f"confirmed after {followed.news}")
        done.set()

    monkeypatch.setattr(request_follower, "confirm", confirm)
    ask(tmp_path, 7, "")
    assert done.wait(20)
    assert order == ["confirmed after 1"]


def test_thread_ends_when_the_follower_is_closed(tmp_path: Path) -> None:
    """Also one that was never started, and twice."""
    followed = Followed(tmp_path)
    followed.follower.close()
    followed.follower.start()
    followed.follower.close()
    followed.follower.close()
    assert not followed.follower._thread.is_alive()
