"""The road to the Node: when it is open, and what it brings."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import fake_api_server
from tests.support.clocks import START
from watcher.errors import ConfigError
from watcher.metrics import Metrics
from watcher.settings import load
from watcher.sources.kubernetes import opened
from watcher.sources.kubernetes_config import KubernetesConfig, ambient, is_protected, wanted
from watcher.sources.road import Site
from watcher.state import State

URL = "https://10.0.0.1:443"


def _site(**more: Any) -> Site:  # noqa: ANN401 - Site's own
    return Site(Metrics(), lambda: START, State(), **more)


def _config(**environment: str) -> KubernetesConfig:
    return load(None, environment, {}).config.of(KubernetesConfig)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """Return a token's file."""
    path = tmp_path / "token"
    path.write_text(ADMIN)
    return path


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({}, None),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "https://10.0.0.1:443"),
        (
            {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"},
            "https://[fd00::1]:6443",
        ),
        (
            {
                "KUBERNETES_SERVICE_HOST": "10.0.0.1",
                "REPRIEVE_KUBERNETES_URL": "http://[::1]:8001/",
            },
            "http://[::1]:8001",
        ),
    ],
    ids=["none", "v4", "v6", "ours"],
)
def test_api_server_is_where_the_kubelet_says_unless_it_is_set(
    environment: dict[str, str], url: str | None
) -> None:
    """As for every pod."""
    assert _config(**environment).url == url
    assert set(ambient(environment)) <= {"url"}


@pytest.mark.parametrize(
    "url",
    ["10.0.0.1:443", "ftp://x", "https://", "https://u@x", "https://x:0", "http://10.0.0.1:8001"],
)
def test_api_server_is_refused_at_start_when_its_url_makes_no_sense(url: str) -> None:
    """It would fail only at the notice, or send the token openly."""
    with pytest.raises(ConfigError, match="a URL such as https"):
        _config(REPRIEVE_KUBERNETES_URL=url)


def test_node_is_protected_by_itself_only_where_a_pod_has_a_token(token: Path) -> None:
    """A pod without one, and a machine without Kubernetes, are left as they are."""
    assert is_protected(KubernetesConfig(url=URL, token_file=token))
    assert not is_protected(KubernetesConfig(url=URL, token_file=token.with_name("none")))
    assert not is_protected(KubernetesConfig(token_file=token))
    assert not is_protected(KubernetesConfig(node="off", url=URL, token_file=token))
    assert is_protected(KubernetesConfig(node="on", url=URL, token_file=token.with_name("none")))
    with pytest.raises(ConfigError, match="needs the API server's URL"):
        is_protected(KubernetesConfig(node="on"))
    assert wanted(KubernetesConfig()) == {}


async def test_road_brings_the_actions_on_our_node(token: Path) -> None:
    """By the names that the policy has, and with what the other roads know of the machine."""
    async with fake_api_server() as server:
        server.cluster.add_node("node-a", provider_id="aws:///z/i-0123")
        config = KubernetesConfig(node="on", url=server.url, token_file=token)
        site = _site(node="node-a", boot_id="boot-1")
        site.health("aws_imds", ("spot",)).facts["instanceId"] = "i-0123"
        async with opened(config, site) as road:
            names = [action.name for action in road.actions]
            assert names == ["node_mark", "cordon", "taint", "lb_exclusion", "drain"]
            assert site.facts() == {"instanceId": "i-0123"}
            assert len(road.keepers) == 4


async def test_road_ends_pods_by_a_taint_only_where_that_is_switched_on(token: Path) -> None:
    """It asks neither budgets nor owners, and stops agents of DaemonSets as well."""
    async with fake_api_server() as server:
        config = KubernetesConfig(node="on", url=server.url, token_file=token, no_execute="on")
        async with opened(config, _site(node="node-a", boot_id="boot-1")) as road:
            assert [action.name for action in road.actions][-2:] == ["drain", "no_execute"]


async def test_road_asks_for_another_node_only_where_that_is_set(token: Path) -> None:
    """What reads the word ends the machine."""
    async with fake_api_server() as server:
        config = KubernetesConfig(
            node="on", url=server.url, token_file=token, no_execute="on", replacement="gke"
        )
        async with opened(config, _site(node="node-a", boot_id="boot-1")) as road:
            assert [action.name for action in road.actions][-2:] == [
                "no_execute",
                "node_replacement",
            ]


async def test_road_is_closed_when_the_authority_can_not_be_read(token: Path) -> None:
    """A matter of set-up, said at start."""
    config = KubernetesConfig(
        node="on", url=URL, token_file=token, authority_file=token.with_name("none")
    )
    with pytest.raises(ConfigError, match="authority"):
        async with opened(config, _site()):
            pass
