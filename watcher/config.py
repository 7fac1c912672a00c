"""The daemon's settings: frozen values, each with its meaning, unit and default.

:mod:`watcher.settings` reads them from file, environment and command line.
"""

import socket
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM, Signals
from typing import TypeVar

from watcher.errors import ConfigError
from watcher.policy import POLICY, Policy

Section = TypeVar("Section")


@dataclass(frozen=True, slots=True)
class Address:
    """A TCP address to listen on; port 0 means any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayConfig:
    """Whose queue the relay reads, and what it does with the notices in it."""

    queue_url: str | None = None
    """The queue that nobody but this cluster's relays reads, unless it is shared."""
    shared_queue: bool = False
    """Whether relays of other clusters read it too: an instance is then ours only by its tag."""
    cluster_tag: str | None = None
    """The tag that this cluster's instances carry, as KEY or KEY=VALUE; for a shared queue, and as
    a label for a fleet on Google Cloud."""
    subscription: str | None = None
    """The Pub/Sub subscription that nobody but this cluster's relays reads."""
    gcp_fleet: str | None = None
    """Whose VMs and preemptions the Compute API is asked about, as PROJECT/ZONE,ZONE..."""
    hook_wait_s: float | None = None
    """Seconds for which a lifecycle hook of a group of ours is kept waiting, with the handler
    ``kubernetes``; where it is not set, the policy's window of a termination."""
    handler: str = "log"
    """``kubernetes`` to write the notices on Nodes, ``log``, ``-`` for JSON lines on standard
    output, or a file to append them to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacesConfig:
    """What people, probes and Prometheus see."""

    listen: Address = Address("127.0.0.1", 9765)
    """Where the status page, /healthz, /readyz, /metrics and /v1/state are served."""
    notice_listen: Address | None = None
    """Where /v1/notice is served, for trainers that can't see the flag file; nowhere by default."""
    blind_limit_s: float = 10.0
    """Seconds that a source may be blind before /readyz says so: ten polls of the fastest key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalConfig:
    """Whom the signal action signals, and with what."""

    pid_file: Path | None = None
    """Holds the pid of the process that is signalled on a stop notice."""
    cgroup: Path | None = None
    """A cgroup of which all processes are signalled."""
    unit: str | None = None
    """A systemd unit of which all processes are signalled; without any of the three nobody is."""
    name: Signals = SIGTERM
    """The signal: SIGTERM is what trainers get from a kubelet or systemd as well."""

    def __post_init__(self) -> None:
        named = [key for key in ("pid_file", "cgroup", "unit") if getattr(self, key) is not None]
        if len(named) > 1:
            both = " and ".join(f"signal.{key}" for key in named[:2])
            raise ConfigError(f"{both} are both set; only one can count")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainConfig:
    """Which pods leave a Node that is to go, and when."""

    scope: str = "all"
    """``all``, ``trainers`` for those in which a trainer runs, or ``off``."""
    selector: str | None = None
    """Labels that a pod has to have to be drained, as for ``kubectl -l``; none for any pod."""
    after_s: float = 0.0
    """Seconds that pods without a trainer stay, for load balancers to send them nothing more."""
    grace_s: float = 30.0
    """Seconds before the deadline from which pods are deleted whatever their budgets say: what they
    have to end in. At most a third of the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything the daemon can be told."""

    cloud: str = "auto"
    """Whose notices are heard: a cloud's, ``none``, or ``auto`` for the one that proves itself."""
    run_dir: Path = Path("/run/reprieve")
    """Where the flag file is written; made by tmpfiles.d or the DaemonSet, never by us."""
    node: str = field(default_factory=socket.gethostname)
    """This node's name in the flag file; in Kubernetes spec.nodeName, else the host's name."""
    dry_run: bool = False
    """Whether nothing is done about notices: each action is only said, with the outcome dry_run."""
    log_format: str = "text"
    """``text`` for people, ``json`` for a log pipeline."""
    log_level: str = "info"
    """``debug``, ``info``, ``warning`` or ``error``."""
    relay: RelayConfig = RelayConfig()
    faces: FacesConfig = FacesConfig()
    signal: SignalConfig = SignalConfig()
    drain: DrainConfig = DrainConfig()
    policy: Policy = field(default_factory=lambda: POLICY)
    """What each kind of notice means, with what settings change in it."""
    sections: tuple[object, ...] = ()
    """The settings of each road, and of some actions, in a dataclass that its own file defines."""

    def of(self, section: type[Section]) -> Section:
        """Return the settings of one road or action; its defaults where there are none."""
        found = (one for one in self.sections if isinstance(one, section))
        return next(found, section())
