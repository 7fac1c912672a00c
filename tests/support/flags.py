"""Flags as the watcher writes them, from the golden file that both sides share."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from trainer_hooks.clock import boot_id, boottime_s

GOLDEN = Path(__file__).parents[1] / "contract" / "notice_v1.json"


def put_flag(
    run_dir: Path,
    *,
    notice_id: str = "test-notice",
    urgency: str = "stop",
    left_s: float = 120.0,
    drill: bool = False,
) -> None:
    """Put a flag into force, by rename, as the watcher does."""
    now, boottime = datetime.now(UTC), boottime_s()
    flag: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    flag |= {
        "id": notice_id,
        "urgency": urgency,
        "drill": drill,
        "received_at": now.isoformat(),
        "deadline": (now + timedelta(seconds=left_s)).isoformat(),
        "deadline_boottime_s": boottime + left_s,
        "written_at": now.isoformat(),
        "written_boottime_s": boottime,
        "boot_id": boot_id(),
        "also": [],
    }
    run_dir.mkdir(parents=True, exist_ok=True)
    temporary = run_dir / f".notice.{time.monotonic_ns()}"
    temporary.write_text(json.dumps(flag), encoding="utf-8")
    temporary.rename(run_dir / "notice.json")


def remove_flag(run_dir: Path) -> None:
    """Withdraw the notice."""
    (run_dir / "notice.json").unlink()
