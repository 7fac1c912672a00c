"""One file a source, and the table of the roads by which notices come."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from watcher.sources import aws, azure, command, drill, gcp, kubernetes, logind, trainer_requests
from watcher.sources.road import Road

ROADS: Mapping[str, Road[Any]] = MappingProxyType(
    {
        road.section: road
        for road in (
            aws.ROAD,
            azure.ROAD,
            command.ROAD,
            drill.ROAD,
            gcp.ROAD,
            kubernetes.ROAD,
            logind.ROAD,
            trainer_requests.ROAD,
        )
    }
)
"""Every road by the name of its settings' section. Each has settings of a type of its own."""

CLOUDS = tuple(road.cloud for road in ROADS.values() if road.cloud is not None)
"""The clouds that can be heard."""
