"""Handing out batches: seen is what was handed out, whatever the workers have fetched ahead."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from tests.support.processes import Children
from tests.support.waiting import wait_until
from trainer_hooks.batches import ShieldedWorker, counted_batches
from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on one core

SIZE, BATCH = 37, 4


class Ids(Dataset[int]):
    """A data set whose samples are their own ids."""

    def __getitem__(self, index: int) -> int:
        return index

    def __len__(self) -> int:
        return SIZE


class Broken(Ids):
    """A data set with a bad sample."""

    def __getitem__(self, index: int) -> int:
        if index == 7:
            raise ValueError("a bad sample")
        return index


def loader(sampler: ResumableSampler, **options: Any) -> DataLoader[torch.Tensor]:  # noqa: ANN401 - DataLoader's own
    """Return a loader over the ids."""
    ids: Any = options.pop("dataset", Ids())
    options.setdefault("generator", torch.Generator())
    return DataLoader(ids, BATCH, sampler=sampler, **options)


def sampler_at(position: int = 0) -> ResumableSampler:
    """Return the sampler of a single rank."""
    sampler = ResumableSampler(SIZE, seed=3, rank=0, world_size=1)
    sampler.position = position
    return sampler


@contextmanager
def handing_out(loader: DataLoader[torch.Tensor]) -> Iterator[Generator[torch.Tensor, None, None]]:
    """Hand out batches, and close them as the hooks do."""
    batches = counted_batches(loader)
    yield batches
    batches.close()


def kill_from_outside(pid: int) -> None:
    """Send SIGTERM as another process does: the parent's own counts."""
    subprocess.run(["kill", "-TERM", str(pid)], check=True)


@pytest.mark.parametrize(
    ("options", "stop_after"),
    [
        ({}, 0),
        ({}, 1),
        ({}, 13),
        ({"num_workers": 2}, 0),
        ({"num_workers": 2, "prefetch_factor": 7}, 13),
        ({"num_workers": 1, "persistent_workers": True}, 9),
    ],
)
def test_batches_go_on_with_the_next_sample_when_they_are_resumed(
    options: dict[str, Any], stop_after: int, children: Children
) -> None:
    """Exactly the ids that were not handed out, over ends of epochs; fetched ahead is not seen."""
    unbroken = list(islice(iter(sampler_at()), 20 * BATCH))
    first = sampler_at()
    with handing_out(loader(first, **options)) as batches:
        seen = [id_ for batch in islice(batches, stop_after) for id_ in batch.tolist()]
    assert first.position == len(seen) == stop_after * BATCH
    second = sampler_at()
    second.load_state_dict(first.state_dict())
    with handing_out(loader(second, **options)) as batches:
        seen += [id_ for batch in islice(batches, 20 - stop_after) for id_ in batch.tolist()]
    assert seen == unbroken
    assert children() == set()


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 2, "prefetch_factor": 6},
        {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 3},
    ],
)
def test_batches_go_on_with_the_next_sample_when_they_are_resumed_three_times(
    options: dict[str, Any],
) -> None:
    """In the middle of the third epoch, one batch later, and before the first of all."""
    unbroken = list(islice(iter(sampler_at()), 40 * BATCH))
    seen: list[int] = []
    state: Any = sampler_at().state_dict()
    for number, count in enumerate((0, 23, 1, 16)):
        sampler = sampler_at()
        sampler.load_state_dict(state)
        assert number != 2 or (sampler.epoch, sampler.position % SIZE) == (2, 18)
        with handing_out(loader(sampler, **options)) as batches:
            seen += [id_ for batch in islice(batches, count) for id_ in batch.tolist()]
        state = json.loads(json.dumps(sampler.state_dict()))
    assert seen == unbroken


@pytest.mark.parametrize("num_workers", [0, 2])
def test_position_counts_a_batch_when_it_is_handed_out(num_workers: int) -> None:
    """Before the step that uses it ends, and never one more."""
    sampler = sampler_at(5)
    with handing_out(loader(sampler, num_workers=num_workers)) as batches:
        assert sampler.position == 5
        for count in range(1, 12):
            next(batches)
            assert sampler.position == 5 + count * BATCH


def test_position_counts_all_ranks_when_one_hands_out_a_batch() -> None:
    """Each rank hands out as much as the others at a step boundary."""
    sampler = ResumableSampler(SIZE, rank=1, world_size=3)
    with handing_out(loader(sampler)) as batches:
        next(batches)
    assert sampler.position == 3 * BATCH


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (DataLoader(Ids(), BATCH), "SequentialSampler"),
        (DataLoader(Ids(), BATCH, shuffle=True), "RandomSampler"),
        (
            DataLoader(Ids(), batch_sampler=BatchSampler(RandomSampler(Ids()), 4, drop_last=True)),
            "Sampler",
        ),
        (DataLoader(Ids(), batch_size=None, sampler=sampler_at()), "batch_size="),
        (DataLoader(Ids(), BATCH, sampler=sampler_at(), in_order=False), "in_order"),
        (
            DataLoader(Ids(), BATCH, sampler=sampler_at()),
            r"^the DataLoader over Ids has no random number generator of its own.*generator=torch",
        ),
    ],
    ids=["sequential", "random", "batch_sampler", "no-batch", "out-of-order", "no-generator"],
)
def test_loader_is_refused_when_its_position_cannot_be_counted(
    refused: DataLoader[int], why: str
) -> None:
    """At once, not at the first batch."""
    with pytest.raises(ConfigError, match=why):
        counted_batches(refused)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_global_random_numbers_are_untouched_when_the_workers_start(num_workers: int) -> None:
    """Their seeds come out of the loader's own generator."""
    before = torch.get_rng_state()
    with handing_out(loader(sampler_at(), num_workers=num_workers)) as batches:
        assert torch.equal(torch.get_rng_state(), before)
        next(batches)
        assert torch.equal(torch.get_rng_state(), before)


def test_workers_live_on_when_a_stranger_sends_sigterm(children: Children) -> None:
    """To each of them, before and after their first batch; the parent keeps its own mask."""
    with handing_out(loader(sampler_at(), num_workers=2)) as batches:
        workers = children()
        assert len(workers) == 2
        assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, set())
        for worker in workers:
            kill_from_outside(worker)
        seen = [id_ for batch in islice(batches, 5) for id_ in batch.tolist()]
        for worker in workers:
            kill_from_outside(worker)
        seen += [id_ for batch in islice(batches, 15) for id_ in batch.tolist()]
        assert seen == list(islice(iter(sampler_at()), 20 * BATCH))
        assert children() == workers
    assert children() == set()


def test_workers_end_when_their_own_parent_sends_sigterm(children: Children) -> None:
    """Python's exit terminates its children and waits for them, however long they take."""
    with handing_out(loader(sampler_at(), num_workers=2)) as batches:
        next(batches)
        workers = children()
        for worker in workers:
            os.kill(worker, signal.SIGTERM)
        wait_until(
            lambda: all(Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z" for pid in workers)
        )


@pytest.mark.parametrize("num_workers", [0, 2])
def test_workers_end_when_the_batches_are_closed_unused(
    num_workers: int, children: Children
) -> None:
    """Nobody is left, even if not one batch was asked for."""
    with handing_out(loader(sampler_at(), num_workers=num_workers)):
        assert len(children()) == num_workers
    assert children() == set()


def test_own_worker_init_runs_when_the_workers_are_shielded(tmp_path: Path) -> None:
    """Once in each worker; a second start of the same loader does not shield twice."""
    ours = loader(
        sampler_at(), num_workers=2, worker_init_fn=lambda number: (tmp_path / f"{number}").touch()
    )
    for _ in range(2):
        with handing_out(ours) as batches:
            next(batches)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}
    assert isinstance(ours.worker_init_fn, ShieldedWorker)
    assert not isinstance(ours.worker_init_fn._previous, ShieldedWorker)


EXITS = """
import sys
from tests.trainer_hooks.test_batches import Broken, Ids, loader, sampler_at
from trainer_hooks.batches import counted_batches

def main():
    how, dataset = sys.argv[1], Broken() if sys.argv[1] == "broken" else Ids()
    batches = counted_batches(
        loader(sampler_at(), dataset=dataset, num_workers=2, persistent_workers=how == "persistent")
    )
    for count, _ in enumerate(batches):
        if count == 10:
            batches.close()
            raise SystemExit(75)

main()
"""


@pytest.mark.ranks
def test_process_ends_when_something_keeps_its_workers_iterator() -> None:
    """The loader itself does, or a bad sample's traceback; a rank must not hang in its exit."""
    started = {
        code: subprocess.Popen(
            [sys.executable, "-c", EXITS, how],
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for how, code in [("persistent", 75), ("broken", 1)]
    }
    try:
        for code, process in started.items():
            _, said = process.communicate(timeout=40)
            assert process.returncode == code, said
    finally:
        for process in started.values():
            process.kill()
            process.wait()
