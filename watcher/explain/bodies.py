"""Every kind of body that can be explained, by the name on the command line."""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.explain.answer import Body
from watcher.explain.aws import AWS_BODIES
from watcher.explain.azure import AZURE_BODIES
from watcher.explain.gcp import GCP_BODIES
from watcher.explain.kubernetes import KUBERNETES_BODIES
from watcher.explain.notice_line import LINE_BODIES

BODIES: Mapping[str, Body] = MappingProxyType(
    {**AWS_BODIES, **AZURE_BODIES, **GCP_BODIES, **KUBERNETES_BODIES, **LINE_BODIES}
)
