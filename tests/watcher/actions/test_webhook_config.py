"""What can be set about the webhook."""

from pathlib import Path

import pytest

from watcher.actions.webhook_config import WebhookConfig, header_files, webhook_url
from watcher.errors import ConfigError

KEY = Path("/k")


def test_webhook_is_off_when_nothing_is_set() -> None:
    """And on with a URL, or with a file that holds one."""
    assert not WebhookConfig().is_on
    assert WebhookConfig(url="https://h/x").is_on
    assert WebhookConfig(url_file=Path("/u")).is_on


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"url": "https://h/x", "url_file": Path("/u")}, "both set"),
        ({"preset": "slack", "template": "{}"}, "both set"),
        ({"preset": "pagerduty"}, "needs webhook.key_file"),
        ({"preset": "slack", "key_file": KEY}, "no other does"),
    ],
)
def test_webhook_is_refused_when_settings_contradict_each_other(
    settings: dict[str, object], why: str
) -> None:
    """One of two would be ignored in silence."""
    with pytest.raises(ConfigError, match=why):
        WebhookConfig(**settings)  # type: ignore[arg-type] # as named


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.slack.com/services/T0/B0/x",
        "https://prod-1.westeurope.logic.azure.com:443/workflows/a/triggers/x?api-version=1&sig=a-_b",
        "http://127.0.0.1:8080/x",
        "http://[::1]:8080/x/",
        "http://localhost/x",
    ],
)
def test_url_is_taken_as_it_is_when_nobody_can_read_along(url: str) -> None:
    """With its query, in which Teams has a signature."""
    assert webhook_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/x",
        "http://10.0.0.1/x",
        "ftp://h/x",
        "https:///x",
        "https://user:pass@h/x",
        "https://h/x#f",
        "https://h/x?a#f",
        "https://h/x?a b",
        "https://h/é",
        "",
        7,
        None,
    ],
)
def test_url_is_refused_when_it_is_open_to_all_or_no_url(url: object) -> None:
    """The expected form is said; what was given is not, as it may be a secret."""
    with pytest.raises(ValueError, match=r"a URL|a text"):
        webhook_url(url)


def test_headers_are_names_and_files_when_set_in_either_way() -> None:
    """A list in the file, a text in the environment."""
    both = ("Authorization=/a/b=c", "X-Key=/d")
    assert header_files(list(both)) == both
    assert header_files("Authorization=/a/b=c, X-Key=/d") == both


@pytest.mark.parametrize(
    "value",
    [7, {"A": "/x"}, ["A"], ["=/x"], ["A="], ["A b=/x"], ["A\r\nB=/x"], ["Host=/x"], ["A=/x", 7]],
)
def test_headers_are_refused_when_they_would_change_the_request(value: object) -> None:
    """Or are none."""
    with pytest.raises(ValueError, match="NAME=FILE"):
        header_files(value)
