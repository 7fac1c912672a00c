"""The variables of AWS's SDKs: what each means to us, and which of several wins."""

import pytest

from watcher.aws_environment import IPV4_ENDPOINT, IPV6_ENDPOINT, VARIABLES
from watcher.errors import ConfigError
from watcher.httpclient import CALL_LIMIT_S
from watcher.settings import load
from watcher.sources.aws_config import AwsConfig

MODE = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"
ENDPOINT = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
TIMEOUT = "AWS_METADATA_SERVICE_TIMEOUT"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, AwsConfig()),
        ({MODE: "IPv6"}, AwsConfig(metadata_endpoint=IPV6_ENDPOINT)),
        ({MODE: "ipv4", "AWS_IMDS_USE_IPV6": "true"}, AwsConfig(metadata_endpoint=IPV4_ENDPOINT)),
        ({"AWS_IMDS_USE_IPV6": "True"}, AwsConfig(metadata_endpoint=IPV6_ENDPOINT)),
        ({MODE: "ipv6", ENDPOINT: "http://a/"}, AwsConfig(metadata_endpoint="http://a")),
        ({"AWS_EC2_METADATA_DISABLED": "TRUE"}, AwsConfig(metadata="off")),
        ({"AWS_EC2_METADATA_DISABLED": "false"}, AwsConfig()),
        ({"AWS_EC2_METADATA_V1_DISABLED": "true"}, AwsConfig(metadata_v1="off")),
        ({TIMEOUT: "0.25"}, AwsConfig(metadata_limit_s=0.25)),
        ({TIMEOUT: "1"}, AwsConfig(metadata_limit_s=CALL_LIMIT_S)),
        ({TIMEOUT: "30"}, AwsConfig(metadata_limit_s=CALL_LIMIT_S)),
    ],
)
def test_variables_of_the_sdks_set_what_they_set_there_when_present(
    environment: dict[str, str], expected: AwsConfig
) -> None:
    """A node that is set up for the SDKs needs nothing more for us."""
    effective = load(None, environment, {})
    assert effective.config.of(AwsConfig) == expected
    assert all(origin.split()[-1] in VARIABLES for origin in effective.origins.values())


@pytest.mark.parametrize(
    ("name", "value"), [(MODE, "ipv5"), (TIMEOUT, "soon"), (TIMEOUT, "0"), (TIMEOUT, "nan")]
)
def test_variable_is_refused_by_name_when_it_can_not_be_used(name: str, value: str) -> None:
    """The SDKs refuse a mode they do not know as well; a typo is never a default in disguise."""
    with pytest.raises(ConfigError, match=f"environment {name}"):
        load(None, {name: value}, {})


def test_every_variable_gives_way_when_ours_is_set() -> None:
    """Ambient ones were made for all programs, ours for this one."""
    ambient = {ENDPOINT: "http://a", "AWS_EC2_METADATA_DISABLED": "true", TIMEOUT: "0.1"}
    ours = {
        "REPRIEVE_AWS_METADATA_ENDPOINT": "http://b",
        "REPRIEVE_AWS_METADATA": "on",
        "REPRIEVE_AWS_METADATA_LIMIT_S": "0.5",
    }
    assert load(None, ambient | ours, {}).config.of(AwsConfig) == AwsConfig(
        metadata_endpoint="http://b", metadata_limit_s=0.5
    )
