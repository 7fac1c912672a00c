"""The status files that trainers leave in the run directory, for the watcher's tests."""

import json
from pathlib import Path

from tests.support.clocks import TurnedClock

GOLDEN = Path(__file__).parents[1] / "contract" / "trainer_v1.json"


def say(run_dir: Path, clock: TurnedClock, boot_id: str, **states: str) -> None:
    """Write trainers' files as trainers do: each by its name, alive now, in that state."""
    (run_dir / "trainers").mkdir(parents=True, exist_ok=True)
    for name, state in states.items():
        said = json.loads(GOLDEN.read_text()) | {
            "boot_id": boot_id,
            "heartbeat_boottime_s": clock().boottime_s,
            "state": state,
        }
        draft = run_dir / f"{name}.draft"
        draft.write_text(json.dumps(said))
        draft.rename(run_dir / "trainers" / f"{name}.json")
