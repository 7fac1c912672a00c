"""A Store of our own in one rank's process: who needs one, and who finds it."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch.distributed as dist

from tests.ranks.test_plain_store import Plain
from trainer_hooks.hosted_store import host_store, join_store, serves_many

pytestmark = pytest.mark.ranks


def test_only_stores_with_c10ds_ways_serve(tmp_path: Path) -> None:
    """Under whatever prefixes."""
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    file = dist.FileStore(str(tmp_path / "store"), 1)
    stores: list[dist.Store] = [server, dist.HashStore(), file, Plain(file)]
    prefixed = [dist.PrefixStore("a", dist.PrefixStore("b", store)) for store in stores]
    assert [serves_many(store) for store in prefixed] == [True, True, False, False]


def test_store_is_found_by_the_address_that_leads_to_it() -> None:
    """Not by what nobody knows, or can be no name."""
    store, where = host_store()
    store.set("said", "here")
    hosts = ("nowhere.invalid", "no..name", "127.0.0.1")
    assert join_store(replace(where, hosts=hosts)).get("said") == b"here"


def test_store_is_not_taken_for_another_one() -> None:
    """A port may be somebody else's Store on the machine that an address means to us."""
    _other, its = host_store()
    with pytest.raises(dist.DistNetworkError, match="somebody else's"):
        join_store(replace(its, hosts=("127.0.0.1",), mark="ours"))


def test_it_is_said_why_when_no_address_leads_to_it() -> None:
    """With each of them."""
    _store, where = host_store()
    with pytest.raises(dist.DistNetworkError, match=r"nowhere\.invalid: .*no\.\.name: "):
        join_store(replace(where, hosts=("nowhere.invalid", "no..name")))
