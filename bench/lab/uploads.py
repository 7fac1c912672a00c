"""Ways to bring a training state into a bucket: ours, and obstore by itself.

By itself means: as many bytes, in parts of the same size, as many at a time, out of memory, and
nothing else. That is more than its own multipart upload moves on two cores, and all that the
machine and the store let one have.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import obstore
import torch.distributed as dist
from obstore.store import S3Store
from torch.distributed.checkpoint.staging import DefaultStager

from lab.our_saves import Ours
from lab.saves import Times, Way
from lab.spread import SpreadState
from lab.store import Store
from trainer_hooks.checkpoint.kept import Kept, room_of_rank
from trainer_hooks.checkpoint.latest import damaged_files, open_checkpoint
from trainer_hooks.checkpoint.parts import AT_ONCE, PART_BYTES
from trainer_hooks.checkpoint.place import place_of
from trainer_hooks.checkpoint.shards import READERS
from trainer_hooks.world import World


class OursInBucket(Ours):
    """A save of ours into a bucket, and a resume from there.

    Args:
        state: What is saved.
        world: The ranks.
        store: Where to.
        stager: What copies the tensors.
    """

    def __init__(
        self, state: SpreadState, world: World, store: Store, stager: DefaultStager
    ) -> None:
        self._store = store
        self._bucket = _fresh_bucket(store, "ours-first")
        super().__init__(state, world, place_of(f"s3://{self._bucket}"), stager)

    def save(self, number: int) -> Times:
        """Save into a new bucket."""
        self._bucket = _fresh_bucket(self._store, f"ours-{number}")
        self._root = place_of(f"s3://{self._bucket}")
        self._checkpointer = self._opened()
        dist.barrier()
        return super().save(number)

    def reads(self) -> Mapping[str, Callable[[], object]]:
        """Do what a resume does first: get every byte and compare its digest."""
        return {"fetch_s": self._fetch}

    def remove(self) -> None:
        """Remove the bucket."""
        self._store.drop(self._bucket)

    def _fetch(self) -> None:
        rank, ranks = self._world.rank, self._world.size
        kept = Kept(room_of_rank(ranks))
        saved = open_checkpoint(self._saved)
        if damaged_files(saved, share=rank, shares=ranks, kept=kept):
            raise RuntimeError("what was got is not what was put")


class Alone(Way):
    """obstore, which moves a rank's bytes.

    Args:
        store: Where to.
        rank_bytes: How many they are.
    """

    def __init__(self, store: Store, rank_bytes: int) -> None:
        self._store = store
        whole, rest = divmod(rank_bytes, PART_BYTES)
        sizes = [PART_BYTES] * whole + [rest] * (rest > 0)
        self._bytes = memoryview(bytes(PART_BYTES))
        self._parts = {f"{dist.get_rank()}/{number:05d}": size for number, size in enumerate(sizes)}
        self._bucket = ""

    def save(self, number: int) -> Times:
        """Put all parts; there is nothing to hold training up for."""
        self._bucket = _fresh_bucket(self._store, f"alone-{number}")
        into = self._opened()

        def put(key: str) -> None:
            obstore.put(into, key, self._bytes[: self._parts[key]], use_multipart=False)

        dist.barrier()
        began = perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(put, self._parts))
        return Times(0.0, perf_counter() - began)

    def reads(self) -> Mapping[str, Callable[[], object]]:
        """Get all of them."""
        return {"load_s": self._get_all}

    def saved_bytes(self) -> int:
        """Count the parts of all ranks, which have as many each."""
        return sum(self._parts.values()) * dist.get_world_size()

    def remove(self) -> None:
        """Remove the bucket."""
        self._store.drop(self._bucket)

    def _opened(self) -> S3Store:
        return S3Store(self._bucket, client_options={"allow_http": True, "timeout": "120s"})

    def _get_all(self) -> None:
        source = self._opened()
        with ThreadPoolExecutor(READERS) as pool:
            sizes = [*pool.map(lambda key: len(obstore.get(source, key).bytes()), self._parts)]
        if sizes != [*self._parts.values()]:
            raise RuntimeError("what was got is not what was put")


def _fresh_bucket(store: Store, name: str) -> str:
    """Make a bucket, once for all ranks, which all call it."""
    if dist.get_rank() == 0:
        store.add(name)
    dist.barrier()
    return name
