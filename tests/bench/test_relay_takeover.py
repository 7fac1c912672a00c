"""The bench of a killed relay: what it counts; its run takes half a minute, not seconds."""

from collections import Counter
from pathlib import Path

import pytest
import relay_takeover
from relay_takeover import handled, until


def test_line_is_counted_only_when_it_is_whole(tmp_path: Path) -> None:
    """The relay may be in the middle of one."""
    file = tmp_path / "notices.jsonl"
    assert handled(file) == Counter()
    file.write_bytes(b'{"instance_id": "i-1"}\n{"instance_id": "i-1"}\n{"instance_id": "i-2"')
    assert handled(file) == {"i-1": 2}


def test_wait_ends_when_what_is_waited_for_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bench that hangs gives no figure, and says at what it has."""
    monkeypatch.setattr(relay_takeover, "LIMIT_S", 0.0)
    until(lambda: True, "nothing")
    with pytest.raises(RuntimeError, match="not within 0 s: the second is ready"):
        until(lambda: False, "the second is ready")
