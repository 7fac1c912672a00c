"""Every cloud that can be simulated is found as itself, whoever else is asked at its address."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_imds import ScriptedImds
from watcher.cloud import find_cloud
from watcher.config import Config
from watcher.errors import SourceError
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.clouds import SIMULATORS
from watcher.simulator.server import make_app, serving
from watcher.sources import CLOUDS, ROADS
from watcher.sources.road import Road

PROVING = [road for road in ROADS.values() if road.proof is not None]


def everybody_at(url: str) -> Config:
    """Return settings in which every cloud has its metadata server there, as in real life."""
    sections = (road.settings(metadata_endpoint=url) for road in PROVING)
    return Config(sections=tuple(sections))


async def proved(road: Road[Any], config: Config) -> str | None:
    """Return what proves this cloud, None if nothing does."""
    assert road.proof is not None
    try:
        return await road.proof(config.of(road.settings))
    except SourceError:
        return None


def test_every_cloud_proves_itself_and_can_be_simulated() -> None:
    """One more in the table of roads is one more here."""
    assert {road.cloud for road in PROVING} == set(CLOUDS) == set(SIMULATORS)
    assert all(road.dmi for road in PROVING)


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_cloud_is_found_as_itself_when_all_share_one_address(
    tmp_path: Path, cloud: str
) -> None:
    """169.254.169.254 is everybody's; the others' proofs find nothing there."""
    app = make_app(SIMULATORS[cloud].scenario({}, ()), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        config = everybody_at(url)
        found = await find_cloud(config, PROVING, tmp_path)
        sure = {road.cloud for road in PROVING if await proved(road, config) is not None}
    assert (found.name, found.is_silent) == (cloud, False)
    assert sure == {cloud}


@pytest.mark.parametrize("body", [b"", b"<html>Please sign in</html>", b"ok", b"{}", b"[]", b"1"])
@pytest.mark.parametrize("status", [200, 204, 302, 401, 403, 404, 500])
async def test_no_cloud_is_found_when_one_that_is_none_answers_everything_alike(
    imds: ScriptedImds, tmp_path: Path, status: int, body: bytes
) -> None:
    """A captive portal, a proxy's error page, a server of somebody's own."""
    imds.needs_token = False
    imds.everything = imds.status(status, b"" if status == 204 else body)
    found = await find_cloud(everybody_at(imds.url), PROVING, tmp_path)
    assert (found.name, set(found.unproven)) == ("none", set(CLOUDS))
