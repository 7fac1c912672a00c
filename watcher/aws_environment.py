"""What the variables of AWS's own SDKs say to us, in the fields of our settings.

Nodes often have them already. They are ambient, made for every program on the node, so they are
below each setting that was made for this daemon.

Source: AWS SDKs and tools reference guide, "IMDS client"; botocore's configuration (both read
2026-11-30).
"""

from collections.abc import Mapping

from watcher.errors import ConfigError
from watcher.httpclient import CALL_LIMIT_S

IPV4_ENDPOINT = "http://169.254.169.254"
IPV6_ENDPOINT = "http://[fd00:ec2::254]"
"""Source: EC2 user guide, "Access instance metadata" (read 2026-11-30). Only Nitro instances with
the IPv6 endpoint switched on have it."""

_ENDPOINT = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
_MODE = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"
_USE_IPV6 = "AWS_IMDS_USE_IPV6"
_DISABLED = "AWS_EC2_METADATA_DISABLED"
_V1_DISABLED = "AWS_EC2_METADATA_V1_DISABLED"
_TIMEOUT = "AWS_METADATA_SERVICE_TIMEOUT"

VARIABLES = (_ENDPOINT, _MODE, _USE_IPV6, _DISABLED, _V1_DISABLED, _TIMEOUT)


def ambient_settings(environment: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    """Return our settings as the SDKs' variables make them: by field, the value and its origin.

    As in the SDKs an endpoint wins over a mode, and a time-out of whole seconds means 1 s or
    more: what is longer than a poll may take is cut to that.

    Raises:
        ConfigError: The mode is neither ipv4 nor ipv6, or the time-out no number.
    """
    found: dict[str, tuple[object, str]] = {}

    def note(key: str, value: object, name: str) -> None:
        found[key] = (value, f"environment {name}")

    if _is_true(environment, _USE_IPV6):
        note("metadata_endpoint", IPV6_ENDPOINT, _USE_IPV6)
    if environment.get(_MODE):
        note("metadata_endpoint", _endpoint_of(environment[_MODE]), _MODE)
    if environment.get(_ENDPOINT):
        note("metadata_endpoint", environment[_ENDPOINT], _ENDPOINT)
    if _is_true(environment, _DISABLED):
        note("metadata", "off", _DISABLED)
    if _is_true(environment, _V1_DISABLED):
        note("metadata_v1", "off", _V1_DISABLED)
    if environment.get(_TIMEOUT):
        note("metadata_limit_s", _limit_s(environment[_TIMEOUT]), _TIMEOUT)
    return found


def _is_true(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").strip().lower() == "true"


def _endpoint_of(mode: str) -> str:
    endpoints = {"ipv4": IPV4_ENDPOINT, "ipv6": IPV6_ENDPOINT}
    if mode.lower() not in endpoints:
        raise ConfigError(f"environment {_MODE}: has to be ipv4 or ipv6, not {mode!r}")
    return endpoints[mode.lower()]


def _limit_s(text: str) -> float:
    try:
        asked_s = float(text)
    except ValueError as error:
        raise ConfigError(f"environment {_TIMEOUT}: has to be seconds, not {text!r}") from error
    return min(asked_s, CALL_LIMIT_S)
