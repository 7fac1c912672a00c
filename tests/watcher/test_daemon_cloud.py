"""The daemon as a process that has to find out which cloud it is in."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.watcher_process import WatcherProcess, control
from watcher.cloud import Cloud
from watcher.config import Config
from watcher.errors import ConfigError
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving
from watcher.sources.gcp_config import GcpConfig
from watcher.start import roads_of


@pytest.mark.e2e
async def test_daemon_hears_the_cloud_that_proves_itself_when_none_is_named(run_dir: Path) -> None:
    """Log and state say which it is and why; a flag left by an earlier run is taken up."""
    async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        await control(url, "notice", window_s=100)
        first = await WatcherProcess.start(run_dir, url, "--cloud=auto")
        before = await first.shows("stop")
        state = await first.state()
        assert state["cloud"]["name"] == "aws"
        assert state["cloud"]["why"].startswith("proved by a token")
        assert "cloud cloud=aws why=proved by" in first.log
        await first.end(signal.SIGKILL)
        second = await WatcherProcess.start(run_dir, url, "--cloud=auto")
        await eventually(lambda: (second.flag() or before)["seq"] > before["seq"])
        after = await second.shows("stop")
        assert [after[name] for name in ("id", "deadline")] == [before["id"], before["deadline"]]
        assert await second.end() == 0


@pytest.mark.e2e
async def test_daemon_refuses_to_start_when_no_cloud_is_there_and_nothing_else_is_set(
    run_dir: Path, unused_tcp_port: int
) -> None:
    """Status 78, with the reason for each cloud and what to do; a flag stays as it is."""
    flag = run_dir / "notice.json"
    flag.write_text("as it was")
    url = f"http://127.0.0.1:{unused_tcp_port}"
    watcher = await WatcherProcess.start(run_dir, url, "--cloud=auto")
    assert await watcher.process.wait() == os.EX_CONFIG
    assert "nothing to hear: no cloud has proved itself (aws: PUT" in watcher.log
    assert "--cloud" in watcher.log
    assert flag.read_text() == "as it was"


def test_cloud_is_heard_when_only_the_firmware_names_it() -> None:
    """Its server may only not be up yet, and a daemon that does not run would not hear it then."""
    roads = roads_of(Config(), Cloud("aws", "the firmware says so", is_silent=True))
    assert "aws" in {road.cloud for road in roads}


def test_advice_is_what_stands_beside_a_cloud_when_none_is_wanted() -> None:
    """Who has said `none` need not be told to name the cloud."""
    with pytest.raises(ConfigError, match="nothing to hear: with cloud = none") as told:
        roads_of(Config(cloud="none"), Cloud("none", "as is set"))
    assert "logind.watch" in str(told.value)
    assert "REPRIEVE_CLOUD" not in str(told.value)


def test_advice_names_the_switch_when_the_clouds_sources_are_off() -> None:
    """That of this cloud, and no other's."""
    config = Config(cloud="gcp", sections=(GcpConfig(metadata="off"),))
    with pytest.raises(ConfigError, match="REPRIEVE_GCP_METADATA=on"):
        roads_of(config, Cloud("gcp", "as is set"))
