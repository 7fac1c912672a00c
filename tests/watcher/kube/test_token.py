"""The token's file: read again in time, and never worse than what is known."""

from pathlib import Path

import pytest

from watcher.errors import KubeUnavailable
from watcher.kube.token import AGE_LIMIT_S, TokenFile


class Clock:
    """Seconds that the test turns."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


async def test_token_is_read_again_when_it_is_old(tmp_path: Path) -> None:
    """At least once a minute, as the kubelet renews it under our feet."""
    path, clock = tmp_path / "token", Clock()
    path.write_text("one\n")
    token = TokenFile(path, clock)
    assert await token.current() == "one"
    path.write_text("two\n")
    assert await token.current() == "one"
    assert AGE_LIMIT_S < 60
    clock.now_s = AGE_LIMIT_S + 1
    assert await token.current() == "two"


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"one\ntwo"])
async def test_token_stays_when_its_file_can_not_be_read(
    tmp_path: Path, content: bytes | None
) -> None:
    """Missing, empty or damaged: what is known may still be good."""
    path, clock = tmp_path / "token", Clock()
    path.write_text("one")
    token = TokenFile(path, clock)
    assert await token.current() == "one"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    clock.now_s = AGE_LIMIT_S + 1
    assert await token.current() == "one"
    assert await token.renewed("one") is None


async def test_token_that_can_not_be_read_again_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A drain makes twenty calls a second; what has been mended and fails again is news."""
    path, clock = tmp_path / "token", Clock()
    token = TokenFile(path, clock)
    for failures in (1, 2):
        path.write_text("one")
        clock.now_s += AGE_LIMIT_S + 1
        assert await token.current() == "one"
        path.unlink()
        clock.now_s += AGE_LIMIT_S + 1
        for _ in range(3):
            assert await token.current() == "one"
        assert caplog.text.count("token not read again") == failures


async def test_nothing_is_asked_when_there_was_never_a_token(tmp_path: Path) -> None:
    """It may come: nothing is known, and that is no matter of set-up any more."""
    token = TokenFile(tmp_path / "token", Clock())
    with pytest.raises(KubeUnavailable, match="No such file"):
        await token.current()
    (tmp_path / "token").write_text("one")
    assert await token.current() == "one"
