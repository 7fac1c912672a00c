"""Which cloud this is: the first that proves itself, within a limit, or none for a reason."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.auto_cloud import AWS, config
from tests.support.scripted_imds import ScriptedImds
from tests.support.skipping_loop import run_skipping
from watcher.cloud import LIMIT_S, Cloud, find_cloud
from watcher.config import Config
from watcher.errors import ConfigError, SourceUnavailable
from watcher.sources import aws
from watcher.sources.aws_config import AwsConfig
from watcher.sources.road import Road

Proof = Callable[[AwsConfig], Coroutine[None, None, str | None]]


def road(name: str, proof: Proof) -> Road[AwsConfig]:
    """Return a road of another cloud, which proves itself as ``proof`` says."""
    return replace(aws.ROAD, section=name, cloud=name, proof=proof, dmi={})


async def hang(_config: AwsConfig) -> str | None:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def be_sure(_config: AwsConfig) -> str | None:
    """Prove itself at once."""
    return "its own word"


@pytest.fixture
def no_dmi(tmp_path: Path) -> Path:
    """A machine whose firmware says nothing."""
    return tmp_path / "dmi"


def firmware(directory: Path, **files: str) -> Path:
    """Write what the firmware says."""
    directory.mkdir()
    for name, words in files.items():
        (directory / name).write_text(words)
    return directory


async def test_cloud_is_not_asked_for_when_it_is_set(imds: ScriptedImds) -> None:
    """A person's word counts, and costs nothing at the start."""
    for name in ("aws", "none"):
        asked = await find_cloud(replace(config(imds.url), cloud=name), AWS)
        assert asked == Cloud(name, "as is set")
    assert imds.requests == []


def test_search_ends_at_its_limit_when_every_server_hangs(no_dmi: Path) -> None:
    """By the loop's own clock, side by side: three take no longer than one."""

    async def search() -> tuple[Cloud, float]:
        roads = [road(name, hang) for name in ("one", "two", "three")]
        found = await find_cloud(Config(), roads, no_dmi)
        return found, asyncio.get_running_loop().time()

    found, took_s = run_skipping(search)
    assert took_s == pytest.approx(LIMIT_S) == 3.0
    assert (found.name, set(found.unproven)) == ("none", {"one", "two", "three"})
    assert "one: no proof within 3 s" in found.why


def test_search_ends_with_the_first_proof_when_another_server_hangs(no_dmi: Path) -> None:
    """Nothing waits for who has nothing to say, and what still runs is ended."""
    ended = []

    async def hang_and_tell(config: AwsConfig) -> str | None:
        try:
            return await hang(config)
        finally:
            ended.append("hanging")

    async def search() -> tuple[Cloud, float]:
        roads = [road("silent", hang_and_tell), road("loud", be_sure)]
        found = await find_cloud(Config(), roads, no_dmi)
        return found, asyncio.get_running_loop().time()

    found, took_s = run_skipping(search)
    assert (found.name, found.why, took_s) == ("loud", "proved by its own word", 0.0)
    assert ended == ["hanging"]


@pytest.mark.parametrize(
    "files",
    [
        {"sys_vendor": "Amazon EC2\n"},
        {"sys_vendor": "Xen\n", "bios_version": "4.11.amazon\n"},
        {"bios_vendor": "Amazon EC2"},
    ],
)
async def test_cloud_is_silent_when_only_the_firmware_names_it(
    tmp_path: Path, unused_tcp_port: int, files: dict[str, str]
) -> None:
    """Its network may not be up yet; that is not "no cloud"."""
    url = f"http://127.0.0.1:{unused_tcp_port}"
    found = await find_cloud(config(url), AWS, firmware(tmp_path / "dmi", **files))
    assert (found.name, found.is_silent, found.unproven) == ("aws", True, ())
    assert str(tmp_path / "dmi") in found.why
    assert "PUT http://127.0.0.1" in found.why


@pytest.mark.parametrize("words", ["QEMU", "Amazon EC2 lookalike", "", "\udcff" * 9, "x" * 5000])
async def test_firmware_names_no_cloud_when_its_words_are_others(
    tmp_path: Path, unused_tcp_port: int, words: str
) -> None:
    """Part of a name is none."""
    directory = firmware(tmp_path / "dmi")
    (directory / "sys_vendor").write_bytes(words.encode(errors="surrogateescape"))
    found = await find_cloud(config(f"http://127.0.0.1:{unused_tcp_port}"), AWS, directory)
    assert (found.name, found.is_silent) == ("none", False)


async def test_firmware_proves_nothing_when_another_cloud_proves_itself(tmp_path: Path) -> None:
    """A metadata server's word beats the firmware's, which any image can copy."""
    directory = firmware(tmp_path / "dmi", sys_vendor="Amazon EC2")

    async def fail(_config: AwsConfig) -> str | None:
        raise SourceUnavailable("not there", outcome="unreachable")

    mine = replace(aws.ROAD, proof=fail)
    found = await find_cloud(Config(), [mine, road("other", be_sure)], directory)
    assert (found.name, found.is_silent) == ("other", False)


async def test_switched_off_cloud_is_not_asked_when_another_is_looked_for(
    imds: ScriptedImds, tmp_path: Path
) -> None:
    """Nor does the firmware make it one that may answer soon."""
    directory = firmware(tmp_path / "dmi", sys_vendor="Amazon EC2")
    found = await find_cloud(config(imds.url, AwsConfig(metadata="off")), AWS, directory)
    assert found == Cloud("none", "no cloud has proved itself (none was asked)")
    assert imds.requests == []


async def test_search_is_refused_when_the_settings_contradict_it(imds: ScriptedImds) -> None:
    """A queue to read, and nobody who may be asked whose it is: only a person can tell."""
    queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/q"
    settings = AwsConfig(metadata="off", instance_id="i-1", queue_url=queue)
    with pytest.raises(ConfigError, match="set cloud = aws"):
        await find_cloud(config(imds.url, settings), AWS)
