"""Whether this is EC2: by its own positive word, and never by another server's."""

from pathlib import Path

import pytest

from tests.support.auto_cloud import AWS, config
from tests.support.scripted_imds import TOKEN_PATH, TTL_HEADER, ScriptedImds
from watcher.cloud import find_cloud
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving
from watcher.sources.aws_config import AwsConfig

PAGE = b"<html><body>Welcome! Please sign in to our network.</body></html>"
ID = b"i-0123456789abcdef0"


@pytest.fixture
def no_dmi(tmp_path: Path) -> Path:
    """A machine whose firmware says nothing."""
    return tmp_path / "dmi"


async def test_aws_is_found_when_it_gives_a_token_and_an_id(no_dmi: Path) -> None:
    """The simulator answers as EC2 does."""
    app = make_app(AwsScenario(), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        found = await find_cloud(config(url), AWS, no_dmi)
    assert (found.name, found.is_silent, found.unproven) == ("aws", False, ())
    assert found.why == f"proved by a token, and the instance's id {ID.decode()}"


async def test_aws_is_found_without_a_token_when_the_server_is_ec2s(
    imds: ScriptedImds, no_dmi: Path
) -> None:
    """Version 1 has no token; who answers says so in a header that mimics leave out."""
    imds.needs_token = False
    imds.play(TOKEN_PATH, imds.status(404))
    imds.play("instance-id", imds.status(200, ID, Server="EC2ws"))
    found = await find_cloud(config(imds.url), AWS, no_dmi)
    assert (found.name, "EC2ws" in found.why) == ("aws", True)
    found = await find_cloud(config(imds.url, AwsConfig(metadata_v1="off")), AWS, no_dmi)
    assert (found.name, found.unproven) == ("none", ("aws",))


@pytest.mark.parametrize("id_", [b"i-0000001a", ID])
async def test_openstack_is_not_aws_when_it_mimics_version_1(
    imds: ScriptedImds, no_dmi: Path, id_: bytes
) -> None:
    """It has EC2's paths and shape of id, no tokens, and another server's name."""
    imds.needs_token = False
    imds.play(TOKEN_PATH, imds.status(405))
    imds.play("instance-id", imds.status(200, id_))
    found = await find_cloud(config(imds.url), AWS, no_dmi)
    assert found.name == "none"
    assert "aws: another cloud's answer" in found.why


TTL = {TTL_HEADER: "21600"}


@pytest.mark.parametrize(
    ("token", "id_"),
    [
        ((200, PAGE, {}), (200, PAGE, {})),
        ((200, PAGE, TTL), (200, ID, TTL)),
        ((302, b"", {"Location": "http://portal.test/"}), (302, b"", {})),
        ((200, b"AQAE==", {}), (200, ID, {})),
        ((200, b"AQAE==", TTL), (404, b"", TTL)),
        ((200, b"AQAE==", TTL), (200, PAGE, TTL)),
        ((200, b"AQAE==", TTL), (200, b"i-fake", TTL)),
        ((200, b"AQAE==", TTL), (200, b"i-0123456789ABCDEF0", TTL)),
        ((200, b"\xff\x00" * 9, TTL), (200, ID, TTL)),
        ((404, b"", {"Metadata-Flavor": "Google"}), (404, b"", {"Metadata-Flavor": "Google"})),
        ((400, b'{"error": "Bad request"}', {}), (400, b'{"error": "Bad request"}', {})),
        ((403, b"", {}), (403, b"", {})),
        ((404, b"", {"Server": "EC2ws"}), (404, b"", {"Server": "EC2ws"})),
        ((404, b"", {}), (200, b"", {"Server": "EC2ws"})),
        ((503, b"", {}), (503, b"", {})),
    ],
    ids=[
        *("portal", "portal with our header", "redirect", "no life", "no id", "page for an id"),
        *("mock-up", "capitals", "binary token", "google", "azure", "forbidden", "all 404"),
        *("empty id", "unavailable"),
    ],
)
async def test_stranger_at_the_address_is_not_aws_when_it_answers_otherwise(
    imds: ScriptedImds,
    no_dmi: Path,
    token: tuple[int, bytes, dict[str, str]],
    id_: tuple[int, bytes, dict[str, str]],
) -> None:
    """Each lacks something that only EC2 says; the reason is kept for people."""
    imds.needs_token = False
    for path, (status, body, headers) in ((TOKEN_PATH, token), ("instance-id", id_)):
        imds.play(path, imds.status(status, body, **headers))
    found = await find_cloud(config(imds.url), AWS, no_dmi)
    assert (found.name, found.is_silent, found.unproven) == ("none", False, ("aws",))
    assert found.why.startswith("no cloud has proved itself (aws: ")


@pytest.mark.parametrize("fault", ["hang", "reset", "half_body"])
async def test_no_cloud_is_found_when_the_server_fails(
    imds: ScriptedImds, no_dmi: Path, fault: str
) -> None:
    """What is no answer proves nothing."""
    imds.play(TOKEN_PATH, imds.fault(fault))
    found = await find_cloud(config(imds.url, AwsConfig(metadata_limit_s=0.2)), AWS, no_dmi)
    assert (found.name, found.unproven) == ("none", ("aws",))


async def test_no_cloud_is_found_when_nobody_is_there(no_dmi: Path, unused_tcp_port: int) -> None:
    """A laptop."""
    found = await find_cloud(config(f"http://127.0.0.1:{unused_tcp_port}"), AWS, no_dmi)
    assert found.name == "none"
    assert "PUT http://127.0.0.1" in found.why
