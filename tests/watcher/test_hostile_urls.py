"""Every setting that is a URL: what it may lead to, and that its secrets are shown to nobody."""

import pytest

from watcher.errors import ConfigError
from watcher.settings import SETTINGS, load, variable

URLS = sorted(key for key in SETTINGS if key.endswith(("url", "endpoint")))


def test_every_setting_that_is_a_url_is_looked_at() -> None:
    """A new one is found by its name."""
    assert len(URLS) >= 8
    assert {"webhook.url", "kubernetes.url", "gcp.compute_endpoint", "aws.queue_url"} <= {*URLS}


@pytest.mark.parametrize("key", URLS)
@pytest.mark.parametrize(
    "value",
    [
        "file:///etc/shadow",
        "gopher://127.0.0.1:6379/_SET",
        "ftp://127.0.0.1/a/b",
        "unix:/run/docker.sock",
        "//169.254.169.254/latest/api/token",
        "http://169.254.169.254\r\nX-Injected: 1/a/b",
        "https://sqs.example\n/1/b",
        "https://sqs.example/1/b c",
        "https:///1/b",
        "https://[::1/1/b",
        "https://name:word@sqs.example/1/b",
    ],
)
def test_url_is_refused_when_it_leads_astray(key: str, value: str) -> None:
    """Another protocol, a header of its own, or a name and password in it."""
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
        load(None, {variable(key): value}, {})


@pytest.mark.parametrize("key", ["kubernetes.url", "gcp.compute_endpoint", "webhook.url"])
@pytest.mark.parametrize("host", ["10.0.0.1", "metadata", "localhost.evil.example", "0.0.0.0"])  # noqa: S104 - what is refused
def test_url_is_refused_when_a_token_would_go_there_openly(key: str, host: str) -> None:
    """Loopback alone is believed without TLS."""
    with pytest.raises(ConfigError):
        load(None, {variable(key): f"http://{host}/a"}, {})


def test_webhooks_secret_is_not_in_the_message_when_its_url_is_refused() -> None:
    """Slack's URL is a password, and the message goes to the journal."""
    url = "http://hooks.slack.com/services/T0/B0/canary"
    with pytest.raises(ConfigError) as raised:
        load(None, {variable("webhook.url"): url}, {})
    assert "canary" not in str(raised.value)
    assert "loopback" in str(raised.value)
