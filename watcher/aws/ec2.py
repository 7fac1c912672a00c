"""What only EC2 can say: who is in a reservation, which instances are there, and whose they are.

Every method blocks. Source: EC2 API reference, DescribeInstances (read 2026-11-30).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from watcher.aws.boto import LazyClient, pages
from watcher.errors import AwsCallFailed

IDS_A_CALL = 200
"""Most values that a filter takes. Source: EC2 API reference, Filter (read 2026-11-30)."""

_GONE = ("terminated", "shutting-down")


@dataclass(frozen=True, slots=True)
class Member:
    """An instance in a capacity reservation."""

    instance_id: str
    instance_type: str


class _Client(Protocol):
    def describe_instances(self, **arguments: object) -> Mapping[str, Any]: ...


class Ec2:
    """Questions to EC2 in one region; None for the one that the environment names."""

    def __init__(self, region: str | None) -> None:
        self._boto = LazyClient("ec2", region)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._boto.close()

    def renew(self) -> None:
        """Let the next call have a client of its own, because one hangs."""
        self._boto.renew()

    def members(self, reservation_id: str, instance_id: str | None = None) -> list[Member]:
        """Return the instances in a capacity reservation, or of them only the one asked for.

        Raises:
            AwsCallFailed: It is unknown who is in it; ec2:DescribeInstances is needed.
        """
        filters = [_filter("capacity-reservation-id", [reservation_id])]
        if instance_id is not None:
            filters.append(_filter("instance-id", [instance_id]))
        return [
            Member(str(instance["InstanceId"]), str(instance.get("InstanceType", "")))
            for instance in self._instances(filters)
        ]

    def present(self, instance_ids: Sequence[str]) -> set[str]:
        """Return those of the instances that exist and are not about to be gone for good.

        Raises:
            AwsCallFailed: It is unknown which they are; ec2:DescribeInstances is needed.
        """
        # A filter, because one id that does not exist would fail a request by ids.
        return {
            str(instance["InstanceId"])
            for some in _portions(instance_ids)
            for instance in self._instances([_filter("instance-id", some)])
            if instance.get("State", {}).get("Name") not in _GONE
        }

    def tagged(self, instance_ids: Sequence[str], key: str, value: str | None) -> set[str]:
        """Return those of the instances that carry the tag, with the value if there is one.

        Raises:
            AwsCallFailed: It is unknown which they are; ec2:DescribeInstances is needed.
        """
        tag = _filter("tag-key", [key]) if value is None else _filter(f"tag:{key}", [value])
        return {
            str(instance["InstanceId"])
            for some in _portions(instance_ids)
            for instance in self._instances([_filter("instance-id", some), tag])
        }

    def _instances(self, filters: Sequence[Mapping[str, object]]) -> Iterator[Mapping[str, Any]]:
        client = cast("_Client", self._boto.get())
        what = "EC2 DescribeInstances"
        for page in pages(what, client.describe_instances, Filters=filters):
            if "Reservations" not in page:
                raise AwsCallFailed(f"{what}: not EC2's answer", outcome="malformed")
            for reservation in page["Reservations"]:
                yield from reservation.get("Instances", ())


def _filter(name: str, values: Sequence[str]) -> Mapping[str, object]:
    return {"Name": name, "Values": list(values)}


def _portions(instance_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(instance_ids), IDS_A_CALL):
        yield instance_ids[start : start + IDS_A_CALL]
