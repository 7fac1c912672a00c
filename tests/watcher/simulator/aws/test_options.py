"""The metadata options decide who gets in."""

import pytest

from watcher.simulator.aws.options import (
    Access,
    HttpEndpoint,
    HttpTokens,
    MetadataOptions,
    OptionsModified,
)


def test_options_stay_as_they_are_when_not_named() -> None:
    """Each can be modified alone."""
    access = Access(MetadataOptions(), hops=1)
    assert (access.is_enabled, access.needs_token, access.token_arrives) == (True, True, True)
    access.modify(OptionsModified(at_s=0, http_tokens=HttpTokens.OPTIONAL))
    assert (access.is_enabled, access.needs_token) == (True, False)
    access.modify(OptionsModified(at_s=0, http_endpoint=HttpEndpoint.DISABLED))
    assert (access.is_enabled, access.needs_token) == (False, False)
    access.modify(OptionsModified(at_s=0, http_endpoint=HttpEndpoint.ENABLED, hop_limit=7))
    assert (access.is_enabled, access.needs_token) == (True, False)


@pytest.mark.parametrize(
    ("hops", "hop_limit", "arrives"), [(1, 1, True), (2, 1, False), (2, 2, True), (1, 64, True)]
)
def test_token_arrives_up_to_the_hop_limit(*, hops: int, hop_limit: int, arrives: bool) -> None:
    """A bridged container is two hops away."""
    assert Access(MetadataOptions(hop_limit=hop_limit), hops).token_arrives is arrives
