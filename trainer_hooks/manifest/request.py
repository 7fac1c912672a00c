"""What a manifest is asked to be: checked here, so that templates can take it as it is."""

import re
from dataclasses import dataclass

from trainer_hooks.errors import ConfigError
from trainer_hooks.manifest.platforms import PLATFORMS, Platform

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
"""A DNS label of RFC 1035, short enough for the pods' names that are made of it."""

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}")

_GPU = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

_PATH = re.compile(r"/[A-Za-z0-9._/-]+")

SMALLEST_WINDOW_S = 6
"""``launch`` keeps five seconds of the window for its own end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A training job, as its user knows it.

    Raises:
        ConfigError: Something in it can't be, in one line that names it.
    """

    name: str
    image: str
    nodes: int
    gpus: int
    """A node's; with 0 the job runs one rank a node on CPU."""
    platform: Platform
    window_s: int | None
    """Seconds from SIGTERM to SIGKILL, where the platform's own figure does not hold."""
    namespace: str = "default"
    queue: str | None = None
    """Kueue's LocalQueue."""
    claim: str = "checkpoints"
    """The PersistentVolumeClaim that checkpoints go to."""
    mount: str = "/checkpoints"
    gpu_resource: str = "nvidia.com/gpu"
    max_crashes: int = 5
    script: tuple[str, ...] = ()
    """The script and its arguments, after torchrun's own options."""

    def __post_init__(self) -> None:
        """Hold every word against what Kubernetes takes."""
        for what, name in (
            ("name", self.name),
            ("namespace", self.namespace),
            ("claim", self.claim),
            ("queue", self.queue or "x"),
        ):
            _require(what, name, _NAME, "letters, digits and dashes, at most 40, a letter first")
        _require("image", self.image, _IMAGE, "an image's name, such as ghcr.io/me/train:1")
        _require("mount", self.mount, _PATH, "an absolute path")
        _require("GPU resource", self.gpu_resource, _GPU, "such as nvidia.com/gpu")
        if not 1 <= self.nodes <= 100_000 or not 0 <= self.gpus <= 64 or self.max_crashes < 0:
            raise ConfigError("nodes are 1 to 100000, GPUs of a node 0 to 64, crashes 0 or more")
        if self.window_s is not None and not SMALLEST_WINDOW_S <= self.window_s <= 86_400:
            raise ConfigError(f"a window is {SMALLEST_WINDOW_S} to 86400 seconds")
        if not self.script or not all(word.isprintable() for word in self.script):
            raise ConfigError("say after -- which script is trained, in printable words")

    @property
    def grace_s(self) -> int:
        """Seconds from SIGTERM to SIGKILL."""
        return self.platform.grace_s if self.window_s is None else self.window_s

    @property
    def ranks(self) -> int:
        """Of one node."""
        return max(1, self.gpus)


def platform_named(name: str) -> Platform:
    """Return a platform.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in PLATFORMS:
        raise ConfigError(f"no cloud {name!r}: say one of {', '.join(PLATFORMS)}")
    return PLATFORMS[name]


def _require(what: str, text: str, pattern: re.Pattern[str], expected: str) -> None:
    if not pattern.fullmatch(text):
        raise ConfigError(f"{what} {text!r} can't be: it has to be {expected}")
