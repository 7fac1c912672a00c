"""Takes the steps of a command, tells a person of each, and shows a program all of them."""

import json

from watcher import console
from watcher.node_queue.step import Outcome, Step

WOULD = "dry_run"
"""Outcome of a step that a dry run has not taken."""


class Report:
    """What has been done, step by step.

    Args:
        is_dry: Whether steps are only named.
    """

    def __init__(self, *, is_dry: bool) -> None:
        self._is_dry = is_dry
        self._steps: list[dict[str, str]] = []

    def take(self, step: Step) -> None:
        """Take a step, and tell of it on standard error, because the output is for programs.

        Raises:
            AwsCallFailed: It was not taken.
        """
        outcome = WOULD if self._is_dry else step.make()
        self._steps.append({"what": step.what, "outcome": outcome})
        if outcome == WOULD:
            console.tell(f"would {step.what}")
        elif outcome == Outcome.DONE:
            console.tell(step.what)
        else:
            console.tell(f"{step.what}: {outcome}")

    def show(self, queue_url: str | None) -> None:
        """Print every step that was taken, and the URL of the queue that was made, as one object.

        Raises:
            ConfigError: Nothing can be printed.
        """
        document = {"dry_run": self._is_dry, "queue_url": queue_url, "steps": self._steps}
        console.show(json.dumps(document, indent=2) + "\n")
