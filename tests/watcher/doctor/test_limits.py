"""What limits a stop on a real machine: found where it is written, and left out where it is not."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import fake_api_server
from tests.support.rehearsed_trainer import RehearsedTrainer
from watcher.cloud import Cloud
from watcher.config import Config
from watcher.doctor import limits
from watcher.doctor.limits import checks
from watcher.finding import Finding, Verdict
from watcher.process import boot_id
from watcher.sources.kubernetes_config import KubernetesConfig

NODE = "node-a"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A run directory, and no kubelet."""
    (tmp_path / "trainers").mkdir()
    monkeypatch.setattr(limits, "KUBELET_CONFIG", tmp_path / "kubelet.yaml")
    return Config(run_dir=tmp_path, node=NODE)


async def said(config: Config, **figures: Any) -> None:  # noqa: ANN401 - as RehearsedTrainer
    """Let a trainer say how it is."""
    await asyncio.to_thread(lambda: RehearsedTrainer(config.run_dir).say(**figures))


async def found_in(config: Config, cloud: str) -> Sequence[Finding]:
    """Return the findings for a cloud."""
    boot = await asyncio.to_thread(boot_id)
    return await checks(config, Cloud(cloud, "as is set"), boot)


async def test_cloud_and_launcher_limit_a_trainer_when_nothing_else_does(config: Config) -> None:
    """A trainer that nobody has told of a grace has torchrun's."""
    await said(config)
    window, stop, versions = await found_in(config, "aws")
    assert window.found == "30 s, the least of: the launcher's grace 30 s, aws's notice 120 s"
    assert (stop.verdict, stop.found) == (
        Verdict.OK,
        "takes, by its last step and save, about 1.2 s of 30 s",
    )
    assert versions.verdict is Verdict.OK


async def test_trainer_that_is_dead_limits_nothing(config: Config) -> None:
    """Its file lies there for a while."""
    await said(config, heartbeat_boottime_s=-100.0)
    window, trainers = await found_in(config, "azure")
    assert window.found == "30 s: azure's notice 30 s"
    assert trainers.found.startswith("none is alive here")


async def test_pods_grace_and_kubelet_limit_it_in_a_cluster(config: Config) -> None:
    """The pod is the one that the trainer names; another's short grace is its own affair."""
    async with fake_api_server() as server:
        server.cluster.add_node(NODE)
        server.cluster.add_pod("other", NODE, grace_s=1)
        server.cluster.add_pod("train", NODE, grace_s=90)
        uid = server.cluster.pod("train")["metadata"]["uid"]
        (config.run_dir / "token").write_text(ADMIN)
        (config.run_dir / "kubelet.yaml").write_text("shutdownGracePeriod: 100s\n")
        await said(config, pod_uid=uid, grace_s=115.0)
        road = KubernetesConfig(url=server.url, token_file=config.run_dir / "token")
        window, *_ = await found_in(replace(config, sections=(road,)), "aws")
    assert window.found == (
        "90 s, the least of: the grace of pod team-a/train 90 s, aws's notice 120 s, "
        "the kubelet's graceful shutdown 100 s, the launcher's grace 115 s"
    )


async def test_gke_is_known_when_the_kubelet_hides_its_settings(config: Config) -> None:
    """No pod on GKE sees them."""
    async with fake_api_server() as server:
        server.cluster.add_node(NODE)
        (config.run_dir / "token").write_text(ADMIN)
        road = KubernetesConfig(url=server.url, token_file=config.run_dir / "token")
        window, *_ = await found_in(replace(config, sections=(road,)), "gcp")
    assert window.found.startswith("15 s, the least of: the graceful shutdown of GKE's Spot nodes")


async def test_nothing_is_wrong_when_the_cluster_can_not_be_asked(
    config: Config, unused_tcp_port: int
) -> None:
    """The grace is unknown, and the rest is said all the same."""
    await said(config)
    (config.run_dir / "token").write_text(ADMIN)
    url = f"http://127.0.0.1:{unused_tcp_port}"
    road = KubernetesConfig(url=url, token_file=config.run_dir / "token")
    grace, window, *_ = await found_in(replace(config, sections=(road,)), "aws")
    assert grace.verdict is Verdict.UNKNOWN
    assert window.found.startswith("30 s")
