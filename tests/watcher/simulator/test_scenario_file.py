"""AwsScenario files: what is read from one, and how it says what is wrong with it."""

import json
from pathlib import Path

import pytest

from watcher.simulator.aws.changes import NoticeIssued, RebalanceRecommended, SpotAction
from watcher.simulator.aws.options import HttpEndpoint, HttpTokens, MetadataOptions
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.scenario_file import load_scenario
from watcher.simulator.values import ScenarioError

WRITTEN = {
    "instance": {
        "id": "i-0feed",
        "life_cycle": "capacity-block",
        "token_ttl_cap_s": 60,
        "http_tokens": "optional",
        "http_endpoint": "disabled",
        "hop_limit": 2,
        "hops": 3,
        "cloud_ahead_s": -5,
        "no_termination_time": "never",
    },
    "changes": [
        {"at_s": 10, "change": "notice", "action": "stop", "window_s": 30},
        {"at_s": 5.5, "change": "rebalance"},
    ],
}

READ = AwsScenario(
    instance_id="i-0feed",
    life_cycle="capacity-block",
    token_ttl_cap_s=60,
    options=MetadataOptions(
        http_tokens=HttpTokens.OPTIONAL, http_endpoint=HttpEndpoint.DISABLED, hop_limit=2
    ),
    hops=3,
    cloud_ahead_s=-5,
    no_termination_time="never",
    changes=(
        NoticeIssued(at_s=10, action=SpotAction.STOP, window_s=30),
        RebalanceRecommended(at_s=5.5),
    ),
)

TOML = """
[instance]
id = "i-0feed"
life_cycle = "capacity-block"
token_ttl_cap_s = 60
http_tokens = "optional"
http_endpoint = "disabled"
hop_limit = 2
hops = 3
cloud_ahead_s = -5
no_termination_time = "never"

[[changes]]
at_s = 10
change = "notice"
action = "stop"
window_s = 30

[[changes]]
at_s = 5.5
change = "rebalance"
"""


@pytest.mark.parametrize(("name", "content"), [("a.toml", TOML), ("a.json", json.dumps(WRITTEN))])
def test_file_becomes_a_scenario_with_every_key(name: str, content: str, tmp_path: Path) -> None:
    """TOML and JSON alike, and nothing is dropped on the way."""
    file = tmp_path / name
    file.write_text(content)
    assert load_scenario(file) == READ


def test_file_becomes_an_uneventful_scenario_when_it_is_empty(tmp_path: Path) -> None:
    """Every key has a default."""
    file = tmp_path / "empty.toml"
    file.touch()
    assert load_scenario(file) == AwsScenario()


NOTICE = '[[changes]]\nat_s = 1\nchange = "notice"\n'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"at_s =", "not TOML: Invalid value (at end of document)"),
        (b"\xff", "not UTF-8: invalid start byte at byte 0"),
        (b"change = []", "unknown key 'change'; the nearest known one is changes; known: cloud"),
        (b"changes = 5", "changes must be a list, not 5"),
        (b"instance = 5", "instance must be a table or JSON object, not 5"),
        (b"[instance]\nlifecycle = 'spot'", "'lifecycle'; the nearest known one is life_cycle"),
        (b"[instance]\nid = ''", "id must be printable text"),
        (b"[instance]\nhop_limit = 65", "hop_limit must be a whole number from 1 to 64, not 65"),
        (b"[instance]\nhops = 0", "hops must be a whole number"),
        (b"[instance]\nhttp_tokens = true", "http_tokens must be one of required, optional"),
        (b"[instance]\ntoken_ttl_cap_s = 0", "token_ttl_cap_s must be a whole number from 1"),
        (b"[instance]\ncloud_ahead_s = nan", "cloud_ahead_s must be"),
        (b"[instance]\nno_termination_time = ''", "no_termination_time must be printable"),
        (b"changes = [5]", "change 1: it must be a table"),
        (b"changes = [{}]", 'change 1: change must say what happens, such as "notice", not None'),
        (b"changes = [{change = 5}]", "change 1: change must say what happens"),
        (b'changes = [{change = "notice"}]', "change 1 (notice): at_s is missing"),
        (
            NOTICE.encode() + b'[[changes]]\nat_s = -1\nchange = "rebalance"',
            "change 2 (rebalance): at_s must be 0 to",
        ),
        (
            NOTICE.encode() + b'[[changes]]\nat_s = 2\nchange = "withdraw"\nafter = 3',
            "change 2 (withdraw): unknown field 'after'; known: none",
        ),
        (
            b'[[changes]]\nat_s = 1\nchange = "script"\npath_prefix = "/"\nanswers = [{}, {a = 1}]',
            "change 1 (script): answer 2: unknown field 'a'",
        ),
        (b'[[changes]]\nat_s = 1\nchange = "withdraw"', "no notice before 1 s"),
    ],
)
def test_file_is_refused_with_the_place_and_the_reason(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    """One line that starts with the file."""
    file = tmp_path / "a.toml"
    file.write_bytes(content)
    with pytest.raises(ScenarioError) as refused:
        load_scenario(file)
    message = str(refused.value)
    assert message.startswith(f"{file}: ")
    assert reason in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "reason"),
    [("{", "not JSON"), ("[" * 100_000, "not JSON"), ("[]", "the file must be a table or JSON")],
)
def test_json_file_is_refused_when_it_is_no_object(
    content: str, reason: str, tmp_path: Path
) -> None:
    """Its name says what it is read as."""
    file = tmp_path / "a.json"
    file.write_text(content)
    with pytest.raises(ScenarioError, match=reason):
        load_scenario(file)


def test_file_is_refused_when_it_cannot_be_read(tmp_path: Path) -> None:
    """Absent, or a directory."""
    with pytest.raises(ScenarioError, match=r"nowhere: No such file or directory"):
        load_scenario(tmp_path / "nowhere")
    with pytest.raises(ScenarioError, match="Is a directory"):
        load_scenario(tmp_path)


@pytest.mark.parametrize(
    ("content", "cloud", "reason"),
    [
        ('cloud = "awx"', None, "unknown cloud 'awx'; the nearest known one is aws"),
        ("cloud = 5", None, "unknown cloud '5'"),
        ("", "gcp", 'it is for cloud = "aws", and gcp is to be played'),
    ],
)
def test_file_is_refused_when_it_is_for_another_cloud(
    content: str, cloud: str | None, reason: str, tmp_path: Path
) -> None:
    """A file that names none is AWS's."""
    file = tmp_path / "a.toml"
    file.write_text(content)
    with pytest.raises(ScenarioError, match=reason):
        load_scenario(file, cloud)
    file.write_text('cloud = "aws"')
    assert load_scenario(file, "aws") == AwsScenario()
