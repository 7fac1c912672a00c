"""What can be set about this machine's Node in Kubernetes, and what of it is on."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from watcher import setting_values
from watcher.errors import ConfigError
from watcher.kube.place import AUTHORITY_FILE, TOKEN_FILE, Place
from watcher.kube.replacement import setting_of
from watcher.sources.kubernetes_node import KubernetesNode
from watcher.sources.road import Kinds

_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesConfig:
    """Whether this machine's Node is protected and heard, and how the API server is reached."""

    node: str = "auto"
    """Whether the Node is protected: ``on``, ``off``, or ``auto``: where a pod has an API server
    and a service account's token. The Node's name is the setting ``node`` at the top."""
    watch: str = "auto"
    """Whether what the Node says of its end is heard; the same words."""
    no_execute: str = "off"
    """``on`` to have the control plane end, at last, every pod that does not tolerate our taint,
    those of DaemonSets and those that the drain leaves alone as well."""
    replacement: str = "off"
    """How whoever replaces Nodes is asked for another one, when a trainer has asked for that:
    ``hyperpod``, ``gke``, ``label:KEY=VALUE`` or ``condition:TYPE=STATUS``."""
    drill: str = "off"
    """``on`` to let the Node's annotation ``reprieve.dev/drill`` begin a drill of the trainers on
    it. Who may write that is the cluster's to say: deploy/daemonset/components/drill."""
    url: str | None = None
    """The API server; in a pod KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT say it."""
    token_file: Path = TOKEN_FILE
    """The service account's token, read again once a minute."""
    authority_file: Path = AUTHORITY_FILE
    """Who has signed the API server's certificate."""


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "node": setting_values.one_of("auto", "on", "off"),
        "watch": setting_values.one_of("auto", "on", "off"),
        "no_execute": setting_values.one_of("on", "off"),
        "replacement": setting_of,
        "drill": setting_values.one_of("on", "off"),
        "url": setting_values.api_url,
        "token_file": setting_values.path,
        "authority_file": setting_values.path,
    }
)


def ambient(environment: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    """Return where the API server is, as the kubelet tells every pod."""
    host, port = environment.get(_HOST, ""), environment.get(_PORT, "") or "443"
    if not host:
        return {}
    url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return {"url": (url, f"environment {_HOST}")}


def wanted(config: KubernetesConfig) -> Kinds:
    """Return the source if the Node is to be heard.

    Raises:
        ConfigError: It is, and there is no API server; or drills are to be heard on it, and it is
            not.
    """
    is_heard = _is_on(config, "watch", config.watch)
    if config.drill == "on" and not is_heard:
        raise ConfigError(
            "kubernetes.drill = on needs the Node to be heard: kubernetes.watch, and an API server"
        )
    return {KubernetesNode.name: KubernetesNode.kinds} if is_heard else {}


def is_protected(config: KubernetesConfig) -> bool:
    """Tell whether the Node is to be protected.

    Raises:
        ConfigError: It is, and there is no API server.
    """
    return _is_on(config, "node", config.node)


def _is_on(config: KubernetesConfig, setting: str, word: str) -> bool:
    if word == "auto":
        return config.url is not None and os.access(config.token_file, os.R_OK)
    if word == "on" and config.url is None:
        raise ConfigError(
            f"kubernetes.{setting} = on needs the API server's URL: kubernetes.url, or in a pod "
            f"{_HOST}"
        )
    return word == "on"


def place_of(config: KubernetesConfig) -> Place:
    """Return where the API server is."""
    return Place(config.url or "", config.token_file, config.authority_file)
