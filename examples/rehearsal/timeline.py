"""The timeline: what happened when, in seconds since the notice, and how much time was to spare.

Pure. Every instant is a measured one, of Unix time; what could not be learnt is None, and is said
to be unknown.
"""

from dataclasses import dataclass

WINDOWS_S = (120, 30, 15)
"""AWS Spot announces 120 s, Google Cloud and Azure 30 s, of which GKE leaves 15 s to user pods.

Source: cloud-contract 0 and 2.8 (2026-11-30)."""


@dataclass(slots=True, kw_only=True)
class Timeline:
    """The story of one notice, filled in as it becomes known."""

    issued: float | None = None
    """The cloud says that the instance will be taken."""
    heard: float | None = None
    """The watcher has the notice in hand."""
    flag_written: float | None = None
    noticed: float | None = None
    """The last rank knows of it."""
    agreed: float | None = None
    """The last rank knows where all stop."""
    committed: float | None = None
    """The last checkpoint became one; may be before the notice."""
    saved: float | None = None
    """The last rank has nothing more to save, and has said so to the launcher."""
    exited: float | None = None
    """The launcher has ended."""
    restarted: float | None = None
    """The same command was started again."""
    resumed: float | None = None
    """The last rank begins its first step."""
    caught_up: float | None = None
    """The last rank has done the first step that was not done before."""
    finished: float | None = None
    stop_step: int | None = None
    """Steps finished when all ranks stopped."""
    committed_step: int | None = None
    """Steps finished in the last checkpoint."""
    resumed_step: int | None = None
    """Steps finished in the checkpoint from which the run went on."""
    steps_redone: int | None = None
    exit_code: int | None = None

    def since_notice(self, instant: float | None) -> float | None:
        """Return seconds since the notice, negative before it; None if either is unknown."""
        return None if instant is None or self.issued is None else instant - self.issued

    def to_spare_s(self) -> dict[int, float | None]:
        """Return, for each window, the seconds left of it when the launcher had ended."""
        took_s = self.since_notice(self.exited)
        return {window: None if took_s is None else window - took_s for window in WINDOWS_S}

    def rows(self) -> list[tuple[float | None, str, str]]:
        """Return (seconds since the notice, who, what), in the order in which they happened.

        An unknown one stands where it would be expected.
        """
        stop, committed = known(self.stop_step), known(self.committed_step)
        story = [
            (self.issued, "cloud", "announces that it will take the node"),
            (self.heard, "watcher", "has heard the notice"),
            (self.flag_written, "watcher", "writes the flag file"),
            (self.noticed, "all ranks", "know of it"),
            (self.agreed, "all ranks", f"have agreed to stop at step {stop}"),
            (self.committed, "all ranks", f"have committed step {committed}, the last save"),
            (self.saved, "all ranks", "have nothing left to save"),
            (self.exited, "launcher", f"exits with code {known(self.exit_code)}"),
            (self.restarted, "launcher", "starts on a new node, with the same command line"),
            (self.resumed, "all ranks", f"go on from step {known(self.resumed_step)}"),
            (self.caught_up, "all ranks", f"have done step {stop}, the first new one"),
            (self.finished, "launcher", "exits with code 0, all steps are done"),
        ]
        placed, latest = [], float("-inf")
        for instant, who, what in story:
            since_s = self.since_notice(instant)
            latest = latest if since_s is None else max(latest, since_s)
            placed.append((latest if since_s is None else since_s, (since_s, who, what)))
        return [row for _, row in sorted(placed, key=lambda one: one[0])]

    def to_json(self) -> dict[str, object]:
        """Return everything that is known, and null for what is not."""
        instants = (
            "issued", "heard", "flag_written", "noticed", "agreed", "committed", "saved", "exited",
            "restarted", "resumed", "caught_up", "finished",
        )  # fmt: skip
        since = {name: self.since_notice(getattr(self, name)) for name in instants}
        return {
            "since_notice_s": {name: _rounded(since_s) for name, since_s in since.items()},
            "to_spare_s": {str(w): _rounded(left_s) for w, left_s in self.to_spare_s().items()},
            "stop_step": self.stop_step,
            "committed_step": self.committed_step,
            "resumed_step": self.resumed_step,
            "steps_redone": self.steps_redone,
            "exit_code": self.exit_code,
        }


def known(number: int | None) -> str:
    """Return a number, or that it is unknown."""
    return "unknown" if number is None else str(number)


def _rounded(value: float | None) -> float | None:
    """Leave out what no clock here can tell."""
    return None if value is None else round(value, 3)
