"""Finds out what limits a stop here: the cloud, the kubelet, pods, the launcher and logind."""

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from watcher.cloud import Cloud
from watcher.config import Config
from watcher.doctor.kubelet import pods_limit
from watcher.doctor.window import Limit, compared, skew, torchrun_limit
from watcher.errors import ConfigError, KubeError, SourceError
from watcher.finding import Finding, unknown
from watcher.kube.client import KubeClient
from watcher.kube.objects import Pod
from watcher.kube.pods import PodApi
from watcher.login_manager import LoginManager
from watcher.process import now
from watcher.sources import ROADS
from watcher.sources.kubernetes_config import KubernetesConfig, is_protected, place_of
from watcher.sources.kubernetes_doctor import LIMIT_S
from watcher.sources.logind_config import LogindConfig
from watcher.trainers import Trainer, read_trainers

KUBELET_CONFIG = Path("/var/lib/kubelet/config.yaml")
"""Where kubeadm, EKS and AKS leave the kubelet's settings; hidden from a pod."""

GKE_GRACEFUL = Limit("the graceful shutdown of GKE's Spot nodes", 15.0, "an extended notice")
"""What ordinary pods get of the 30 s: docs/kubernetes.md."""

_MOST_BYTES = 1024 * 1024


async def checks(config: Config, cloud: Cloud, boot_id: str) -> Sequence[Finding]:
    """Return the window that applies here beside what trainers take, and the two sides' versions.

    Raises:
        ConfigError: As for the road to Kubernetes.
    """
    read = await asyncio.to_thread(read_trainers, config.run_dir, boot_id)
    now_s = now().boottime_s
    alive = [one for one in read.found if one.is_alive(now_s)]
    limits = [*_of_cloud(cloud), *await _of_logind(config)]
    found: list[Finding] = []
    if await asyncio.to_thread(is_protected, config.of(KubernetesConfig)):
        limits += await asyncio.to_thread(_of_kubelet, cloud)
        try:
            limits += await _of_pods(config, alive)
        except (KubeError, ConfigError) as error:
            found.append(unknown("grace of the trainers' pods", str(error)))
    limits += [limit] if (limit := torchrun_limit(alive)) else []
    said = sorted(alive, key=lambda one: one.id)
    ours = await asyncio.to_thread(version, "reprieve")
    return [*found, *compared(limits, said), *skew(ours, said)]


def _of_cloud(cloud: Cloud) -> list[Limit]:
    windows_s = [road.window_s for road in ROADS.values() if road.cloud == cloud.name]
    return [Limit(f"{cloud.name}'s notice", one, "") for one in windows_s if one is not None]


def _of_kubelet(cloud: Cloud) -> list[Limit]:
    try:
        with KUBELET_CONFIG.open(encoding="utf-8", errors="replace") as file:
            limit = pods_limit(file.read(_MOST_BYTES))
    except OSError:
        return [GKE_GRACEFUL] if cloud.name == "gcp" else []
    return [limit] if limit else []


async def _of_logind(config: Config) -> list[Limit]:
    """Return how long a shutdown can be held back, where it is heard at all."""
    settings = config.of(LogindConfig)
    if settings.watch == "off":
        return []
    try:
        manager = await LoginManager.connect(settings.bus_address)
        try:
            limit_s = (await manager.look()).limit_s
        finally:
            manager.close()
    except SourceError:
        return []  # its own check says why
    longer = "deploy/systemd/logind.conf.d/reprieve.conf"
    return [Limit("logind's delay of a shutdown", limit_s, longer)]


async def _of_pods(config: Config, alive: Sequence[Trainer]) -> list[Limit]:
    """Return the shortest grace of a pod in which a trainer is alive."""
    settings = config.of(KubernetesConfig)
    uids = {one.pod_uid for one in alive if one.pod_uid}
    if not uids:
        return []
    tls = await asyncio.to_thread(place_of(settings).tls)
    async with KubeClient(place_of(settings), tls, is_dry_run=True, limit_s=LIMIT_S) as client:
        pods = [pod for pod in await PodApi(client, config.node).list() if pod.uid in uids]
    return [_of_pod(min(pods, key=lambda pod: pod.grace_s))] if pods else []


def _of_pod(pod: Pod) -> Limit:
    name = f"{pod.namespace}/{pod.name}"
    return Limit(f"the grace of pod {name}", float(pod.grace_s), "terminationGracePeriodSeconds")
