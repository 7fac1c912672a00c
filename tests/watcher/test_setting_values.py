"""What a setting may be: each value that is refused, and with which words."""

import pytest

from watcher import setting_values
from watcher.errors import ConfigError
from watcher.settings import load


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cloud", "nimbus"),
        ("azure.vm_name", ""),
        ("azure.vm_name", "gpu 3"),
        ("azure.vm_name", "n" * 129),
        ("azure.vm_name", 3),
        ("azure.approve", "after_saving"),
        ("azure.approve", True),
        ("azure.approve_wait_s", 0),
        ("node", ""),
        ("node", 7),
        ("node", "n" * 254),
        ("node", "a\nb"),
        ("aws.queue_url", "https://[::1/a/b"),
        ("aws.queue_url", "https://sqs.eu-west-1.amazonaws.com/1/a b"),
        ("relay.shared_queue", []),
        ("relay.shared_queue", {}),
        ("run_dir", "/a\0b"),
        ("run_dir", "/" + "x" * 256),
        ("run_dir", "/" + "x/" * 3000),
        ("signal.pid_file", "/a\0b"),
        ("aws.metadata_endpoint", "http://a..b"),
        ("aws.metadata_endpoint", "http://" + "a" * 64 + ".x"),
        ("aws.metadata_endpoint", "http://" + "a." * 200 + "x"),
        ("aws.metadata_endpoint", "http://\u2488com"),
        ("aws.metadata_endpoint", "http://a b"),
        ("aws.metadata_endpoint", " http://127.0.0.1"),
        ("aws.metadata_endpoint", "http://127.0.0.1/a b"),
        ("aws.metadata_endpoint", "http://[v1.x]"),
        ("aws.metadata_endpoint", "http://[::1%eth 0]"),
        ("aws.metadata_endpoint", "http://127.0.0.1:" + "0" * 5000 + "80"),
        ("faces.listen", "127.0.0.1:000000070000"),
        ("faces.listen", "127.0.0.1:" + "0" * 5000),
        ("faces.blind_limit_s", 10**400),
        ("log_format", "xml"),
        ("log_level", "loud"),
        ("aws.queue_url", "reprieve-node-i-1"),
        ("gcp.compute", "maybe"),
        ("gcp.compute_endpoint", "http://compute.googleapis.com"),
        ("gcp.compute_endpoint", "compute.googleapis.com"),
        ("gcp.compute_endpoint", "https://compute.googleapis.com/?a=b"),
        ("gcp.pubsub_endpoint", "http://10.0.0.1:8085"),
        ("gcp.pubsub_endpoint", "ftp://127.0.0.1"),
        ("gcp.subscription", "node-1"),
        ("relay.subscription", "reprieve-relay"),
        ("relay.gcp_fleet", "my-proj"),
        ("relay.gcp_fleet", "my-proj/"),
        ("relay.gcp_fleet", "my-proj/europe-west1-b,"),
        ("relay.gcp_fleet", "my-proj/a b"),
        ("gcp.subscription", "projects/my-proj/topics/reprieve"),
        ("gcp.subscription", "projects/my-proj/subscriptions/a/../b"),
        ("aws.queue_url", "https://sqs.eu-west-1.amazonaws.com/no-account"),
        ("relay.shared_queue", "yes"),
        ("relay.shared_queue", 1),
        ("run_dir", 3),
        ("run_dir", True),
        ("aws.metadata_endpoint", "169.254.169.254"),
        ("aws.metadata_endpoint", "https://169.254.169.254"),
        ("aws.metadata_endpoint", "http://"),
        ("aws.metadata_endpoint", "http://user@host"),
        ("aws.metadata_endpoint", "http://host:99999"),
        ("aws.metadata_endpoint", "http://[::1"),
        ("aws.metadata_endpoint", "http://host/?q=1"),
        ("aws.metadata", "true"),
        ("aws.metadata_limit_s", 1),
        ("aws.instance_id", "x y"),
        ("aws.instance_id", "0123456789abcdef0"),
        ("aws.instance_id", " i-0123456789abcdef0"),
        ("aws.instance_id", "i-\ud800"),
        ("faces.listen", "9765"),
        ("faces.listen", ":9765"),
        ("faces.listen", "example.com:80"),
        ("faces.listen", "127.0.0.1:65536"),
        ("faces.listen", "127.0.0.1:-1"),
        ("faces.listen", "127.0.0.1:"),
        ("faces.listen", 9765),
        ("faces.blind_limit_s", 0),
        ("faces.blind_limit_s", -1),
        ("faces.blind_limit_s", "soon"),
        ("faces.blind_limit_s", True),
        ("faces.blind_limit_s", float("nan")),
        ("faces.blind_limit_s", float("inf")),
        ("drain.scope", "pods"),
        ("drain.selector", ""),
        ("drain.selector", "app=web,"),
        ("drain.selector", "app like web"),
        ("drain.selector", "app in (web"),
        ("drain.selector", "a in (" + ",  " * 300 + "!"),
        ("drain.selector", "a=  ," * 200 + "!"),
        ("drain.selector", "a" * 1025),
        ("drain.after_s", -1),
        ("drain.after_s", True),
        ("drain.grace_s", 0),
        ("signal.pid_file", []),
        ("signal.name", "TERM"),
        ("signal.name", 15),
    ],
)
def test_value_is_refused_with_key_and_origin_when_it_can_not_be_used(
    key: str, value: object
) -> None:
    """The message says where it was set, what it is, and what it has to be."""
    with pytest.raises(ConfigError) as caught:
        load(None, {}, {key: value})  # type: ignore[dict-item] # a TOML file can hold any type
    assert str(caught.value).startswith(f"command line: {key} has to be ")
    assert repr(value)[:200] in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("/bin/a b 'c d'", ("/bin/a", "b", "c d")),
        (["/bin/a", "", "c d"], ("/bin/a", "", "c d")),
        ("", None),
        ("'open", None),
        ([], None),
        ([""], None),
        (["a", 1], None),
        (["a\0"], None),
        (7, None),
    ],
)
def test_arguments_are_words_when_given_as_a_list_or_as_a_shell_would_split_them(
    value: object, words: tuple[str, ...] | None
) -> None:
    """No shell runs; what can't be split is refused."""
    if words is None:
        with pytest.raises(ValueError, match="a program first"):
            setting_values.arguments(value)
    else:
        assert setting_values.arguments(value) == words
