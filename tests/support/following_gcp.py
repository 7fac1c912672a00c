"""One key of GCP's metadata server, followed by hand: a session that plays a script."""

from dataclasses import dataclass, field

from tests.support.clocks import TurnedClock
from watcher.errors import SourceError
from watcher.health import SourceHealth
from watcher.httpclient import Answer
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.gcp_follow import Followed, Follower, Key

NAME = "gcp_metadata"
HOLD_S = 5


def said(body: str, etag: str | None = "e1", status: int = 200) -> Answer:
    """Return an answer of the metadata server's."""
    return Answer(status, {} if etag is None else {"ETag": etag}, body.encode())


@dataclass
class Script:
    """A session whose next answer the test puts in, with the seconds that it takes."""

    asked: list[str | None] = field(default_factory=list)
    """For each request the ETag that it waited with; None for a look."""
    answers: list[tuple[Answer | SourceError, float]] = field(default_factory=list)
    now_s: float = 1000.0

    async def get(self, _path: str) -> Answer:
        """Play a look."""
        return self._next(None)

    async def changed(self, _path: str, etag: str, _hold_s: int) -> Answer:
        """Play a wait."""
        return self._next(etag)

    def _next(self, etag: str | None) -> Answer:
        self.asked.append(etag)
        answer, took_s = self.answers.pop(0)
        self.now_s += took_s
        if isinstance(answer, SourceError):
            raise answer
        return answer


class ByHand:
    """A follower that asks when it is told to."""

    def __init__(self, key: Key, name: str, clock: TurnedClock) -> None:
        self.script = Script()
        self.health = SourceHealth(NAME, (name,), clock(), Metrics())
        followed = Followed(name, name, HOLD_S, key)
        self.follower = Follower(NAME, self.script, followed, self.health, clock)
        self.follower._clock = lambda: self.script.now_s

    async def hears(self, answer: Answer | SourceError, took_s: float = 0.0) -> list[Notice]:
        """Return what the next answer is news of."""
        self.script.answers.append((answer, took_s))
        return await self.follower._ask()

    @property
    def pause_s(self) -> float:
        """How long it is until the next request."""
        return max(0.0, self.follower._due_at - self.script.now_s)
