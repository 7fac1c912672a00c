"""Who the machine is, by the metadata service."""

import pytest

from watcher.errors import SourceMalformed
from watcher.sources.azure_vm import AzureVm, parse_name


@pytest.mark.parametrize(
    "body", [b"gpu-vmss_3", b" gpu-vmss_3\r\n", b'"gpu-vmss_3"', b'"gpu-vmss_3"\n']
)
def test_name_is_read_when_it_comes_as_text_or_json(body: bytes) -> None:
    """The service gives text where one asks for it; a quoted one means the same."""
    assert parse_name(body) == "gpu-vmss_3"


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b" ", b"<html>", b"{}", b'"', b'""', b'"a', b"a b", b"-a", b"a/b", b"a" * 129),
        *(b"\xff", b"null {}", b'{"name": "a"}', "gpü".encode(), b"a\0b", b"a\nb"),
    ],
)
def test_name_is_malformed_when_it_is_none(body: bytes) -> None:
    """A page of somebody else's is not who we are."""
    with pytest.raises(SourceMalformed) as caught:
        parse_name(body)
    assert len(str(caught.value)) < 400


async def test_first_name_stays_when_another_is_said_later() -> None:
    """A name that changed would make a new notice of an old one."""
    facts: dict[str, str] = {}
    vm = AzureVm(facts, None)
    for name in ("one", "two"):
        vm._learn(name)
        await vm.wait()
        assert (vm.name, facts) == ("one", {"name": "one"})
