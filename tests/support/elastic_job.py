"""A job of nodes that come and go, each with its own launcher and loopback address."""

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.elastic_main import GLOBAL_BATCH, SAMPLES, SEED
from tests.support.launching import Launch, launch, wait_until
from tests.support.ports import quiet_port
from trainer_hooks import ResumableSampler
from trainer_hooks.agreements import AgreementName

MAIN = Path(__file__).with_name("elastic_main.py")
STEPS = 700


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one generation of ranks has done of a step."""

    world: int
    at: float
    """When its last rank was done, in seconds of Unix time."""
    ids: list[int]
    """Samples, in the order of their numbers."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The nodes of one job; ``2:3`` of them unless said otherwise."""

    directory: Path
    nodes: str = "2:3"
    store: int | None = None
    """Port of a store at 127.0.0.9; without it the first node hosts the rendezvous."""
    agreement: AgreementName = "store"
    port: int = field(default_factory=quiet_port)

    def start(self, node: int) -> Launch:
        """Start the launcher of a node, with one rank."""
        is_host = int(node == 1 and self.store is None)
        host, port = ("127.0.0.1", self.port) if self.store is None else ("127.0.0.9", self.store)
        options = [f"--nnodes={self.nodes}", "--rdzv-backend=c10d", "--rdzv-id=elastic"]
        options += [f"--rdzv-endpoint={host}:{port}", f"--local-addr=127.0.0.{node}"]
        options += [f"--rdzv-conf=is_host={is_host},last_call_timeout=3"]
        self.log.mkdir(exist_ok=True)
        arguments = [str(self.directory / "checkpoints"), str(self.log)]
        arguments += [str(STEPS), self.agreement]
        return launch(self.of(node), MAIN, *arguments, ranks=1, options=options)

    def of(self, node: int) -> Path:
        """Return where a node's files are."""
        return self.directory / f"node_{node}"

    @property
    def log(self) -> Path:
        """Where all ranks log."""
        return self.directory / "log"

    def hurry(self) -> None:
        """Let the run come to its end."""
        self.log.mkdir(exist_ok=True)
        (self.log / "hurry").touch()

    def generations(self) -> list[dict[int, Step]]:
        """Return what each generation of ranks has done, by step; the oldest first."""
        found: dict[str, dict[int, Step]] = {}
        for path in self.log.glob("*.jsonl"):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    record = json.loads(line)
                    steps = found.setdefault(record["generation"], {})
                    before = steps.get(record["step"])
                    steps[record["step"]] = Step(
                        world=record["world"],
                        at=max(record["at"], before.at if before else 0.0),
                        ids=sorted([*record["ids"], *(before.ids if before else [])]),
                    )
        return sorted(found.values(), key=lambda steps: min(step.at for step in steps.values()))

    def wait_for(self, *worlds: int) -> None:
        """Wait until generations of so many ranks, one after the other, have done some steps."""

        def have_come() -> bool:
            found = [next(iter(g.values())).world for g in self.generations() if len(g) > 5]
            return found == list(worlds)

        wait_until(have_come, f"generations of {worlds} ranks", 120.0)

    def samples(self) -> list[list[int]]:
        """Return the samples of each step, as the last generation that has done it had them."""
        last: dict[int, Step] = {}
        for generation in self.generations():
            last |= generation
        return [last[step].ids for step in range(STEPS)]


def as_ordered() -> list[list[int]]:
    """Return the samples of each step by the order alone, without a run."""
    stream = iter(ResumableSampler(SAMPLES, seed=SEED, rank=0, world_size=1))
    return [sorted(itertools.islice(stream, GLOBAL_BATCH)) for _ in range(STEPS)]
