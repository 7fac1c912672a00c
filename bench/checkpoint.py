"""What a commit costs over a save that nobody vouches for, and how fast it gets into a bucket.

Two real ranks on gloo, which have a model and its AdamW spread over them by FSDP2. In one run, in
rounds of random order, on a tmpfs and on a disk, at 256 MB and at 1 GB a rank:

  save                  dcp.save
  async_save            dcp.async_save, which copies into new buffers each time
  async_save_kept       the same with a stager that keeps its buffers, as ours does
  ours                  Checkpointer.save, up to the commit
  ours_without_digests  the same, with the digests of what DCP writes taken out, in this bench only
  torch_checkpointing   Meta's: a process of its own writes. It syncs nothing, so its figures on a
                        disk are of the page cache
  ours_s3               Checkpointer.save into a bucket of SeaweedFS, which runs beside it
  obstore_alone         as many bytes out of memory into the same, in parts as ours, nothing else

and of each what is saved is loaded again: ours with every byte's digest compared, and on trust.
A disk has to read then; its page cache is emptied before. All times are of the slower rank. The
stall is all that training waits for: taking the state out of model and optimizer is in it.

The last line is one JSON object. Exit status 1 when a target is missed, in any place, at any size:

  stall          more than 1.05 times that of async_save
  durable        more than 1.15 times that of async_save
  upload         moves less than 0.9 times what obstore alone does
  load           more than 1.15 times that of dcp.load and of reading every byte for its digest, by
                 xxHash alone. No byte may be used before all ranks have found theirs whole, so the
                 two come one after the other
  load on trust  more than 1.15 times that of dcp.load
  fetch          of a resume out of the bucket, all digests compared, moves less than 0.9 times what
                 obstore alone does. As the stall is no part of an upload, putting the bytes into
                 the tensors is none of this; the whole load beside obstore is a figure, no target

Each is judged by the 95 % interval of the median ratio within a round, all of which has to lie
beyond the target.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.intervals import median_interval
from lab.judged import TARGETS, Judged, judge, times
from lab.machine import machine
from lab.saving import ALONE, ASYNC, BUCKET, KEPT, OURS, SUBPROCESS, WAYS, Plan, Round, measured
from lab.store import running_store
from lab.subprocess_saves import MISSING

from tests.support.s3_server import VARIABLES

ROUNDS = 11
SIZES_MB = (256.0, 1000.0)
SMALL_ROUNDS, SMALL_MB = 2, 6.0

TMPFS, DISK = Path("/dev/shm"), Path("/var/tmp")  # noqa: S108 - the bench's own directory in it


def main() -> None:
    """Measure, show the figures, and end the process with 1 if a target is missed."""
    options = parsed()
    os.environ |= VARIABLES
    places = {"tmpfs": options.tmpfs, "disk": options.disk}
    found: dict[str, dict[str, object]] = {}
    missed: list[str] = []
    for place, parent in places.items():
        found[place] = {"file_system": file_system(parent)}
        for rank_mb in options.mb:
            with directory_in(parent) as directory:
                rounds = rounds_in(directory, rank_mb, options.rounds, place)
            judged = judge(rounds)
            print(table(f"{place}, {rank_mb:g} MB a rank", rounds, judged), flush=True)
            found[place][f"{rank_mb:g}"] = result_of(rounds, judged)
            missed += [f"{target} on {place} at {rank_mb:g} MB" for target in judged.missed]
    result = {
        "bench": "checkpoint",
        "target": TARGETS,
        "missed": bool(missed),
        "missed_where": missed,
        "rounds": options.rounds,
        "absent": {SUBPROCESS: MISSING} if MISSING else {},
        "places": found,
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if missed else 0)


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--mb", type=float, nargs="+", default=SIZES_MB, metavar="N", help="a rank (%(default)s)")
    add("--rounds", type=int, default=ROUNDS, metavar="N", help="of every way (%(default)s)")
    add("--tmpfs", type=Path, default=TMPFS, metavar="DIR", help="in memory (%(default)s)")
    add("--disk", type=Path, default=DISK, metavar="DIR", help="on a disk (%(default)s)")
    add("--small", action="store_true", help="a few megabytes, to see that it runs")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds has to be at least 1")
    if options.small:
        options.mb, options.rounds = [SMALL_MB], SMALL_ROUNDS
    return options


@contextmanager
def directory_in(parent: Path) -> Iterator[Path]:
    """Make a directory, and remove it with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="reprieve-bench-", dir=parent) as path:
        yield Path(path)


def file_system(directory: Path) -> str:
    """Return what kind of file system a directory is on."""
    command = ["stat", "--file-system", "--format=%T", str(directory)]
    return subprocess.check_output(command, text=True).strip()  # noqa: S603 - coreutils


def rounds_in(directory: Path, rank_mb: float, rounds: int, place: str) -> list[Round]:
    """Measure in one place at one size, beside a store that has its data there too."""
    for name in ("files", "store"):
        (directory / name).mkdir()
    with running_store(directory / "store") as store:
        os.environ["AWS_ENDPOINT"] = store.endpoint
        plan = Plan(directory=directory / "files", rank_mb=rank_mb, store=store, rounds=rounds)
        return measured(plan, f"{place}, {rank_mb:g} MB")


def result_of(rounds: Sequence[Round], judged: Judged) -> dict[str, object]:
    """Return what the last line says of one place and size."""
    ways = {
        way: {
            "bytes": int(rounds[-1][way]["bytes"]),
            **{
                figure: median_interval([round_[way][figure] for round_ in rounds]).to_json()
                for figure in rounds[0][way]
                if figure != "bytes"
            },
        }
        for way in WAYS
    }
    return {
        "ours_times_async_save": {
            "stall": judged.stall.to_json(),
            "durable": judged.durable.to_json(),
            "load": times(rounds, OURS, "load_s", ASYNC).to_json(),
            "load_on_trust": judged.load_on_trust.to_json(),
        },
        "ours_times_async_save_and_digests": {"load": judged.load.to_json()},
        "ours_times_async_save_kept": {
            "stall": times(rounds, OURS, "stall_s", KEPT).to_json(),
            "durable": times(rounds, OURS, "durable_s", KEPT).to_json(),
        },
        "ours_s3_times_obstore_alone": {
            "upload_rate": judged.upload.to_json(),
            "fetch_rate": judged.fetch.to_json(),
            "load": times(rounds, BUCKET, "load_s", ALONE).to_json(),
        },
        "missed": judged.missed,
        "ways": ways,
    }


def table(title: str, rounds: Sequence[Round], judged: Judged) -> str:
    """Return the figures for people."""
    lines = [f"{title:31} stall s  durable s   load s       MB"]
    for way in WAYS:
        figures = {
            figure: median_interval([round_[way][figure] for round_ in rounds]).median
            for figure in rounds[0][way]
        }
        load = f"{figures['load_s']:9.3f}" if "load_s" in figures else f"{'-':>9}"
        line = f"  {way:28}{figures['stall_s']:9.4f} {figures['durable_s']:10.3f} {load}"
        lines.append(f"{line}{figures['bytes'] / 1e6:9.1f}")
    for name, ratio in judged.lines():
        lines.append(f"  {name:29}{ratio.median:9.3f}  ({ratio.low:.3f} to {ratio.high:.3f})")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
