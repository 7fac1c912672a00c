"""What of a VM never changes while a scenario is played."""

from dataclasses import dataclass

DEFAULT_ID = 1234567890123456789
"""Ids are of this length: unsigned, 64 bits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Who the VM is, and how it was bought.

    ``on_host_maintenance`` is what becomes of it when its host is maintained: MIGRATE, or
    TERMINATE, which is the only one for VMs with GPUs and for Spot VMs.
    """

    id: int = DEFAULT_ID
    name: str = "node-1"
    project_id: str = "my-project"
    project_number: int = 123456789012
    zone: str = "europe-west4-b"
    machine_type: str = "a3-highgpu-8g"
    is_preemptible: bool = True
    on_host_maintenance: str = "TERMINATE"

    def facts(self) -> dict[str, str]:
        """Map each lasting path under `computeMetadata/v1/` to its text."""
        number = self.project_number
        return {
            "instance/hostname": f"{self.name}.{self.zone}.c.{self.project_id}.internal",
            "instance/id": str(self.id),
            "instance/machine-type": f"projects/{number}/machineTypes/{self.machine_type}",
            "instance/name": self.name,
            "instance/scheduling/automatic-restart": _truth(not self.is_preemptible),
            "instance/scheduling/on-host-maintenance": self.on_host_maintenance,
            "instance/scheduling/preemptible": _truth(self.is_preemptible),
            "instance/zone": f"projects/{number}/zones/{self.zone}",
            "project/numeric-project-id": str(number),
            "project/project-id": self.project_id,
        }


def _truth(is_so: bool) -> str:  # noqa: FBT001 - a value in the cloud's words
    return "TRUE" if is_so else "FALSE"
