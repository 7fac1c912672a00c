"""By what names and addresses this machine is reached."""

import pytest

from trainer_hooks import own_addresses as module
from trainer_hooks.own_addresses import own_addresses


def test_addresses_are_those_by_which_all_have_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loopback's last: it means another machine on every other one."""
    monkeypatch.setenv("MASTER_ADDR", "node-0")
    sources = {"node-0": ["127.0.1.1", "::1", "10.0.0.7"], "192.0.2.1": ["10.9.0.7"]}
    monkeypatch.setattr(module, "_sources", lambda host: iter(sources.get(host, [])))
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    found = ["10.0.0.7", "node-0", "10.9.0.7", "here", "127.0.1.1", "::1", "10.0.0.7"]
    assert [*own_addresses()] == found


def test_addresses_are_found_when_all_have_met_on_loopback() -> None:
    """And none where no machine can be meant."""
    assert "127.0.0.1" in [*module._sources("127.0.0.1")]
    for nobody in ("nowhere.invalid", "no..name", "long" * 20):
        assert [*module._sources(nobody)] == []


@pytest.mark.parametrize("master", [None, ""])
def test_loopback_is_an_address_when_nobody_says_where_all_have_met(
    monkeypatch: pytest.MonkeyPatch, master: str | None
) -> None:
    """All ranks may be on one machine that has no network."""
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    if master is not None:
        monkeypatch.setenv("MASTER_ADDR", master)
    assert {"127.0.0.1", "::1"} & {*own_addresses()}
