"""Settings: who wins, and which files, keys and variables are refused with which words."""

import signal
from pathlib import Path

import pytest

from watcher.config import Address, Config
from watcher.errors import ConfigError
from watcher.notice import NoticeKind, Urgency
from watcher.policy import POLICY
from watcher.settings import SETTINGS, Effective, load, strangers, variable
from watcher.sources.aws_config import AwsConfig

POLICY_VALUES = {
    key: value
    for kind, rule in POLICY.items()
    for key, value in (
        (f"policy.{kind}.urgency", "stop"),
        (f"policy.{kind}.actions", "flag_file, signal"),
        *([(f"policy.{kind}.lead_s", "600")] if rule.lead_s else []),
        *([(f"policy.{kind}.expires_s", "7200")] if rule.expires_s else []),
    )
}
UNSETTABLE = {key for key in SETTINGS if key.startswith("policy.")} - POLICY_VALUES.keys()
"""Keys that are known, so that setting them says why one can't."""

EXCLUSIVE = {"webhook.url", "webhook.template", "signal.cgroup", "signal.unit"}
"""Keys that one of the others below rules out."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A place for a TOML file."""
    return tmp_path / "watcher.toml"


def from_file(file: Path, text: str) -> Config:
    """Load settings from this text alone."""
    file.write_text(text)
    return load(file, {}, {}).config


def test_defaults_are_the_documented_ones_when_nothing_is_set() -> None:
    """Others build on these values."""
    effective = load(None, {}, {})
    config = effective.config
    assert config.cloud == "auto"
    assert config.run_dir == Path("/run/reprieve")
    assert config.faces.listen == Address("127.0.0.1", 9765)
    assert config.of(AwsConfig).metadata_endpoint == "http://169.254.169.254"
    assert config.signal.pid_file is None
    assert config.signal.name is signal.SIGTERM
    assert effective.origins == {}


def test_command_line_beats_environment_beats_file_when_all_are_set(file: Path) -> None:
    """Each layer wins over the one before, and the origin is known."""
    file.write_text('node = "file"\nrun_dir = "/file"\nlog_level = "debug"\n')
    environment = {"REPRIEVE_NODE": "environment", "REPRIEVE_RUN_DIR": "/environment"}
    effective = load(file, environment, {"node": "line", "cloud": None})
    config = effective.config
    assert (config.node, config.run_dir, config.log_level) == (
        "line",
        Path("/environment"),
        "debug",
    )
    assert effective.origins == {
        "node": "command line",
        "run_dir": "environment REPRIEVE_RUN_DIR",
        "log_level": str(file),
    }


def test_every_key_can_be_set_in_each_layer_when_spelt_alike(file: Path) -> None:
    """No key is forgotten anywhere, and all layers read the same texts."""
    values = {
        "cloud": "aws",
        "run_dir": "/somewhere",
        "node": "n",
        "log_format": "json",
        "log_level": "error",
        "aws.metadata": "off",
        "aws.metadata_endpoint": "http://[fd00:ec2::254]",
        "aws.metadata_limit_s": "0.5",
        "aws.metadata_v1": "off",
        "aws.queue_url": "https://sqs.eu-west-1.amazonaws.com/123456789012/reprieve-node-i-1",
        "aws.instance_id": "i-1",
        "aws.hook_wait_s": "600",
        "command.argv": "/usr/bin/tell --node x",
        "command.mode": "status",
        "command.interval_s": "1",
        "command.limit_s": "2",
        "command.kind": "shutdown",
        "command.window_s": "60",
        "drill.socket": "/run/x/drill.sock",
        "logind.watch": "on",
        "logind.bus_address": "unix:path=/x",
        "trainer_requests.uids": "1000,1001",
        "relay.queue_url": "http://127.0.0.1:5000/123456789012/fleet",
        "relay.subscription": "projects/my-proj/subscriptions/reprieve-relay",
        "relay.gcp_fleet": "my-proj/europe-west1-b,europe-west1-c",
        "relay.shared_queue": "true",
        "relay.cluster_tag": "kubernetes.io/cluster/blue=owned",
        "relay.handler": "-",
        "relay.hook_wait_s": "600",
        "azure.metadata_endpoint": "http://127.0.0.1:1338",
        "azure.vm_name": "pool_3",
        "azure.approve": "after_actions",
        "azure.approve_wait_s": "60.0",
        "gcp.metadata": "off",
        "gcp.metadata_endpoint": "http://127.0.0.1:1339",
        "gcp.metadata_limit_s": "0.5",
        "gcp.preemption_notice_s": "120",
        "gcp.event_notice_s": "3600",
        "gcp.compute": "off",
        "gcp.compute_endpoint": "https://compute-mine.p.googleapis.com",
        "gcp.subscription": "projects/my-proj/subscriptions/reprieve-node-1",
        "gcp.pubsub_endpoint": "http://127.0.0.1:8085",
        "faces.listen": "[::1]:0",
        "faces.notice_listen": "0.0.0.0:9766",
        "faces.blind_limit_s": "2.5",
        "signal.pid_file": "/x.pid",
        "signal.name": "SIGUSR1",
        "dry_run": "true",
        "drain.scope": "trainers",
        "drain.selector": "app=web,tier in (a, b),!batch",
        "drain.after_s": "0",
        "drain.grace_s": "15",
        "kubernetes.node": "on",
        "kubernetes.watch": "off",
        "kubernetes.url": "https://10.0.0.1:443",
        "kubernetes.token_file": "/token",
        "kubernetes.authority_file": "/ca.crt",
        "kubernetes.no_execute": "on",
        "kubernetes.replacement": "hyperpod",
        "kubernetes.drill": "on",
        "webhook.url_file": "/url",
        "webhook.preset": "pagerduty",
        "webhook.key_file": "/key",
        "webhook.header_files": "X-A=/a",
        "webhook.limit_s": "5",
        "webhook.proxy": "environment",
        "run_command.argv": "/usr/bin/notify --all",
        "run_command.limit_s": "5",
        **POLICY_VALUES,
    }
    assert set(values) == set(SETTINGS) - UNSETTABLE - EXCLUSIVE
    lines = [f'{key} = "{value}"' for key, value in values.items()]  # TOML knows dotted keys
    environment = {variable(key): value for key, value in values.items()}
    loaded: list[Effective] = [load(None, environment, {}), load(None, {}, dict(values))]
    assert loaded[0].config == loaded[1].config == from_file(file, "\n".join(lines))
    assert loaded[0].config.faces.listen == Address("::1", 0)
    assert str(loaded[0].config.faces.listen) == "[::1]:0"
    assert loaded[0].config.faces.blind_limit_s == 2.5


def test_sdk_variable_counts_only_when_nothing_of_ours_is_set(file: Path) -> None:
    """It is ambient: a setting made for this daemon wins over it in every layer."""
    ambient = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1338/"}
    assert load(None, ambient, {}).config.of(AwsConfig).metadata_endpoint == "http://127.0.0.1:1338"
    file.write_text('[aws]\nmetadata_endpoint = "http://127.0.0.1:1"\n')
    assert load(file, ambient, {}).config.of(AwsConfig).metadata_endpoint == "http://127.0.0.1:1"
    given = {"aws.metadata_endpoint": "http://127.0.0.1:2"}
    assert load(file, ambient, given).config.of(AwsConfig).metadata_endpoint == "http://127.0.0.1:2"


def test_empty_variable_is_no_setting_when_present() -> None:
    """A manifest that passes an empty value means "not set"."""
    assert load(None, {"REPRIEVE_NODE": "", "REPRIEVE_RUN_DIR": ""}, {}).origins == {}


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ('run_dri = "/x"', "run_dri", "run_dir"),
        ('[faces]\nlisten_on = "x"', "faces.listen_on", "faces.listen"),
        ('[face]\nlisten = "x"', "face", "faces.listen"),
        ('listen = "127.0.0.1:1"', "listen", "faces.listen"),
        ("[run_dir]\nx = 1", "run_dir", None),
        ("[empty]", "empty", None),
        ("[aws.metadata_endpoint]\nx = 1", "aws.metadata_endpoint", None),
        ("faces = 3", "faces", None),
    ],
)
def test_unknown_key_is_refused_with_the_nearest_known_one_when_in_the_file(
    file: Path, text: str, key: str, nearest: str | None
) -> None:
    """A typo is never a default in disguise; file and key are named."""
    with pytest.raises(ConfigError) as caught:
        from_file(file, text)
    message = str(caught.value)
    assert str(file) in message
    assert key in message
    assert nearest is None or message.endswith(f"nearest known one is {nearest}")


@pytest.mark.parametrize("what", ["missing", "directory", "not toml", "not text"])
def test_file_is_refused_by_name_when_it_can_not_be_read(file: Path, what: str) -> None:
    """A file that was asked for and is not there is an error, not an empty file."""
    match what:
        case "directory":
            file.mkdir()
        case "not toml":
            file.write_text("run_dir = /x")
        case "not text":
            file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=str(file)):
        load(file, {}, {})


@pytest.mark.parametrize(
    "text",
    [
        "faces.blind_limit_s = " + "9" * 5000,
        "faces.blind_limit_s = 0x" + "f" * 5000,
        "node = 0x" + "f" * 5000,
        "cloud = " + "[" * 30_000 + "]" * 30_000,
        "node." + ".".join(["a"] * 3000) + " = 1",
        ".".join(["a"] * 3000) + " = 1",
        "# " + "x" * 65_536,
        "node = 'x'  # \0",
        "[" + "a." * 3000 + "a]\n" + "b." * 3000 + "b = 1",
    ],
    ids=range(9),
)
def test_file_is_refused_in_one_short_line_when_it_is_hostile(file: Path, text: str) -> None:
    """Numbers without end, depth, length: never a traceback, never a screenful."""
    with pytest.raises(ConfigError) as caught:
        from_file(file, text)
    assert len(str(caught.value)) < 600 + len(str(file))
    assert "\n" not in str(caught.value)


def test_variable_is_named_with_the_nearest_setting_when_it_sets_nothing() -> None:
    """A typo in a manifest shows; what trainers read, and what is not ours, does not."""
    environment = {
        "REPRIEVE_RUNDIR": "/x",
        "REPRIEVE_RUN_DIR": "/x",
        "REPRIEVE_RESULT_DIR": "/x",
        "PATH": "/x",
    }
    assert strangers(environment) == [
        "environment REPRIEVE_RUNDIR sets nothing; the nearest setting is REPRIEVE_RUN_DIR"
    ]


def test_policy_is_what_its_tables_make_it_when_in_the_file(file: Path) -> None:
    """A table for each kind, and the environment above it, field by field."""
    file.write_text(
        "[policy.rebalance]\n"
        'urgency = "stop"\n'
        'actions = ["cordon", "flag_file", "signal"]\n'
        "[policy.maintenance]\n"
        "lead_s = 300\n"
    )
    environment = {"REPRIEVE_POLICY_MAINTENANCE_LEAD_S": "450"}
    effective = load(file, environment, {})
    policy = effective.config.policy
    rebalance = policy[NoticeKind.REBALANCE]
    assert (rebalance.urgency, rebalance.actions) == (
        Urgency.STOP,
        ("flag_file", "signal", "cordon"),
    )
    assert policy[NoticeKind.MAINTENANCE].lead_s == 450
    assert policy[NoticeKind.PREEMPTION] == POLICY[NoticeKind.PREEMPTION]
    assert effective.value("policy.rebalance.urgency") is Urgency.STOP
    assert effective.value("policy.preemption.lead_s") is None
    assert effective.origins["policy.maintenance.lead_s"].endswith("_LEAD_S")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[policy.preemptoin]\nurgency = "stop"', "nearest known one is policy.preemption"),
        ('[policy.rebalance]\nurgence = "stop"', "nearest known one is policy.rebalance.urgency"),
        ("[policy.rebalance.actions]\nx = 1", "policy.rebalance.actions has to be a list"),
        ("[policy]\nrebalance = 1", "unknown key policy.rebalance"),
        ('policy = "calm"', "unknown key policy"),
        ('[policy.rebalance]\nactions = ["flag_file", "cordn"]', "to 'cordn' is cordon"),
        ('[policy.preemption]\nactions = ["signal"]', "policy.preemption.actions has to have flag"),
        ('[policy.preemption]\nurgency = "advisory"', "policy.preemption.urgency has to be stop"),
    ],
)
def test_policy_is_refused_with_file_and_key_when_it_makes_no_sense(
    file: Path, text: str, why: str
) -> None:
    """At the start, and not at the notice."""
    with pytest.raises(ConfigError) as caught:
        from_file(file, text)
    assert str(caught.value).startswith(str(file))
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("other", "value"), [("signal.cgroup", "/sys/fs/cgroup/x"), ("signal.unit", "x.service")]
)
def test_settings_are_refused_when_two_say_who_is_signalled(other: str, value: str) -> None:
    """A pid file and a unit would be two ways to mean one process, or two."""
    with pytest.raises(ConfigError, match=rf"{other} are both set"):
        load(None, {}, {"signal.pid_file": "/run/x.pid", other: value})
    signalled = load(None, {}, {other: value}).config.signal
    assert value in (str(signalled.cgroup), signalled.unit)


@pytest.mark.parametrize(
    "name", ["", "train", "a/b.service", "../x.service", ".service", "x.slice"]
)
def test_unit_is_refused_when_it_is_no_whole_name(name: str) -> None:
    """A slice is none: its processes are those of many units."""
    with pytest.raises(ConfigError, match=r"signal\.unit has to be"):
        load(None, {}, {"signal.unit": name})
