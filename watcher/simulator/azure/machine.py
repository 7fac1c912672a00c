"""The simulated machine: what is said of it, and whether its events are switched on."""

from collections.abc import Mapping

from watcher.simulator.clock import ScenarioClock

DEFAULT_NAME = "gpu-vmss_3"
VM_ID = "0a1b2c3d-4e5f-4a00-8000-00000000aaaa"

OFF_AFTER_S = 86_400.0
"""Seconds without a question after which events are switched off. Source: Azure virtual machines,
"Scheduled Events for Linux VMs", "Enabling and disabling" (read 2026-11-30)."""


class Machine:
    """One machine of a scale set.

    Args:
        clock: The scenario's.
        name: Its name in Azure.
        first_answer_s: Seconds that the first answer about events takes.
    """

    def __init__(self, clock: ScenarioClock, name: str, first_answer_s: float) -> None:
        self._clock = clock
        self._name = name
        self._first_answer_s = first_answer_s
        self._answered_s: float | None = None

    def first_answer_left_s(self) -> float:
        """Return for how long an answer about events is held back: the first one is."""
        answered_s = self._answered_s
        is_on = answered_s is not None and self._clock.elapsed_s() - answered_s < OFF_AFTER_S
        return 0.0 if is_on else self._first_answer_s

    def answered(self) -> None:
        """Note an answer about events, which keeps them switched on."""
        self._answered_s = self._clock.elapsed_s()

    def compute(self) -> Mapping[str, str]:
        """Return the texts that are said of it, by Azure's names."""
        group, _, number = self._name.rpartition("_")
        is_member = bool(group) and number.isdecimal()
        return {
            "azEnvironment": "AzurePublicCloud",
            "evictionPolicy": "Delete",
            "location": "westeurope",
            "name": self._name,
            "priority": "Spot",
            "vmId": VM_ID,
            "vmScaleSetName": group if is_member else "",
            "vmSize": "Standard_ND96isr_H100_v5",
        }
