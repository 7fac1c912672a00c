"""Every cloud that can be simulated, by its name on the command line and in scenario files."""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.simulator.aws.flags import AWS
from watcher.simulator.azure.flags import AZURE
from watcher.simulator.cloud import SimulatedCloud
from watcher.simulator.gcp.flags import GCP

SIMULATORS: Mapping[str, SimulatedCloud] = MappingProxyType(
    {"aws": AWS, "azure": AZURE, "gcp": GCP}
)
