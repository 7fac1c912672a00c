"""A road: one cloud, or the machine itself, as the daemon sees it before anything is opened.

A road is written in one file: its settings, its sources, and how they are opened. The table ROADS
is the only place that knows them all, so another cloud is a file and a line there.
"""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from watcher.actions.base import Action
from watcher.actions.node_board import NodeBoard
from watcher.config import DrainConfig
from watcher.finding import Finding
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Moment, Notice, NoticeKind
from watcher.policy import POLICY, Policy
from watcher.sources.base import Source
from watcher.state import State

Settings = TypeVar("Settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """The machine that the doctor looks at.

    Attributes:
        environment: The variables that the daemon would have.
        node: This machine's name in the cluster.
        boot_id: This boot's; empty where it is hidden.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    node: str = ""
    boot_id: str = ""


Checks = Callable[[Settings, Patient], Coroutine[None, None, Sequence[Finding]]]
"""Checks of a road, given its settings and the machine."""

Kinds = Mapping[str, Collection[NoticeKind]]
"""Sources by name, with the kinds that each can tell of."""


@dataclass(frozen=True, slots=True)
class Site:
    """What the daemon gives to every road that it opens.

    Attributes:
        metrics: What counts fetches and messages.
        now: Reads both clocks.
        state: Which notices are in force.
        adopted: Notices that an earlier run of the daemon has left in force.
        node: This machine's name in the cluster.
        boot_id: This boot's.
        run_dir: The run directory.
        drain: Which pods leave a Node that is to go.
        policy: What each kind of notice means.
        is_dry_run: Whether everything is only tried.
        healths: The health of every source that was opened so far.
    """

    metrics: Metrics
    now: Callable[[], Moment]
    state: State
    adopted: tuple[Notice, ...] = ()
    node: str = ""
    boot_id: str = ""
    run_dir: Path = Path("/run/reprieve")
    drain: DrainConfig = field(default_factory=DrainConfig)
    policy: Policy = field(default_factory=lambda: POLICY)
    is_dry_run: bool = False
    healths: list[SourceHealth] = field(default_factory=list)

    def left_by(self, source: str) -> tuple[Notice, ...]:
        """Return what an earlier run has heard from this source."""
        return tuple(notice for notice in self.adopted if notice.source == source)

    def health(
        self, source: str, keys: tuple[str, ...], *, is_required: bool = True
    ) -> SourceHealth:
        """Return the health of a source that starts now, blind on all its keys."""
        health = SourceHealth(source, keys, self.now(), self.metrics, is_required=is_required)
        self.healths.append(health)
        return health

    def facts(self) -> dict[str, str]:
        """Return what all sources have learnt of this machine so far."""
        return {name: fact for health in self.healths for name, fact in health.facts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A road that is open, until the block around it ends.

    Attributes:
        sources: What is to be heard, each by itself.
        keepers: What else has to run meanwhile.
        actions: What can be done about notices, of this road or of any, by this road's means.
        board: What is known of the Node and its pods, for people; None outside Kubernetes.
    """

    sources: Sequence[Source]
    keepers: Sequence[Callable[[], Coroutine[None, None, None]]] = ()
    actions: Sequence[Action] = ()
    board: NodeBoard | None = None

    @property
    def healths(self) -> tuple[SourceHealth, ...]:
        """One health for each source; lanes of one source share theirs."""
        return tuple(dict.fromkeys(source.health for source in self.sources))

    def acknowledge(self, notice: Notice) -> None:
        """Tell the source of a notice that all is done about it."""
        for source in self.sources:
            if source.name == notice.source:
                source.acknowledge(notice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Road(Generic[Settings]):
    """One way in which notices come.

    Attributes:
        section: Its settings' section, such as ``aws``.
        cloud: Its word for the setting ``cloud``; None for what any machine may have beside one.
        settings: The frozen dataclass of its settings, each field with a default and a docstring.
        readers: By field what reads a value; a reader's ValueError says what it had expected.
        wanted: Says which sources the settings ask for; raises ConfigError where one lacks
            something. None wanted is no error here.
        opened: Opens them; a block, as what it opens has to be closed.
        proof: For ``cloud = auto``: asks the metadata server whether this machine is in the cloud.
            It returns what proves it, in a few words: something that only this cloud's server
            says, never a status alone; None where another one answers. It raises SourceError where
            no usable answer comes, and is given up after 3 s (see :mod:`watcher.cloud`).
        dmi: For the same: patterns by name of a file in /sys/class/dmi/id, each of which names the
            cloud's machines in full. They prove nothing, but a server that is silent on such a
            machine will answer soon.
        ambient: Settings as variables made for other programs give them: by field, the value and
            its origin. They are below every setting that was made for this daemon.
        edges: Sources that say a thing once, such as a queue: what they have said is kept on disk
            before they are told to forget it.
        checks: What ``doctor`` asks on this road, given the settings and the machine: it says what
            keeps notices away and what to do about it, and changes nothing.
        window_s: Seconds from a notice to the end of a Spot node that this cloud promises at least.
        protects: Says whether the road is to be opened for its actions, though nothing may be heard
            on it; raises ConfigError as ``wanted`` does.
    """

    section: str
    cloud: str | None
    settings: type[Settings]
    readers: Mapping[str, Callable[[object], object]]
    wanted: Callable[[Settings], Kinds]
    opened: Callable[[Settings, Site], AbstractAsyncContextManager[Opened]]
    ambient: Callable[[Mapping[str, str]], Mapping[str, tuple[object, str]]] = lambda _: {}
    proof: Callable[[Settings], Coroutine[None, None, str | None]] | None = None
    dmi: Mapping[str, str] = field(default_factory=dict)
    edges: Collection[str] = ()
    checks: Checks[Settings] | None = None
    window_s: float | None = None
    protects: Callable[[Settings], bool] = lambda _: False
