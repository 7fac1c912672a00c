"""What can be set about the webhook."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from watcher import setting_values
from watcher.actions.webhook_bodies import JSON, PAGERDUTY, PRESETS
from watcher.actions.webhook_template import template
from watcher.errors import ConfigError

NO_PROXY, BY_ENVIRONMENT = "none", "environment"

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
"""Source: RFC 9110, section 5.6.2, a token."""

_NOT_HEADERS = frozenset(
    {"connection", "content-length", "expect", "host", "transfer-encoding", "upgrade"}
)
"""With these the request would become another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookConfig:
    """Where the news of each notice is posted, and in whose words."""

    url: str | None = None
    """Where to; without it, or ``url_file``, nothing is posted. https, or http on loopback."""
    url_file: Path | None = None
    """Holds the URL instead, where it is a secret itself, as Slack's and Teams's are."""
    preset: str = JSON
    """Whose words: ``json`` for our own document, ``slack``, ``teams`` or ``pagerduty``."""
    template: str | None = None
    """A body of one's own: JSON in whose strings {kind}, {text} and so on are filled in."""
    header_files: tuple[str, ...] = ()
    """Headers as NAME=FILE; the file holds the value."""
    key_file: Path | None = None
    """Holds the integration key that ``pagerduty`` needs."""
    limit_s: float = 10.0
    """Longest that an attempt may take, in seconds."""
    proxy: str = NO_PROXY
    """``environment`` for the proxy that HTTPS_PROXY and NO_PROXY name."""

    def __post_init__(self) -> None:
        if self.url is not None and self.url_file is not None:
            raise ConfigError("webhook.url and webhook.url_file are both set; only one can count")
        if self.template is not None and self.preset != JSON:
            raise ConfigError(
                "webhook.template and webhook.preset are both set; only one can count"
            )
        if (self.preset == PAGERDUTY) != (self.key_file is not None):
            raise ConfigError(
                "webhook.preset = pagerduty needs webhook.key_file, and no other does"
            )

    @property
    def is_on(self) -> bool:
        """Whether anything is posted."""
        return self.url is not None or self.url_file is not None


def webhook_url(value: object) -> str:
    """Return a URL to post to; nothing may go there openly."""
    given = setting_values.text(value)
    place, _, query = given.partition("?")
    try:
        setting_values.api_url(place)
    except ValueError as error:
        raise ValueError("a URL such as https://HOST/PATH, or http:// on loopback") from error
    if "#" in query or not all("!" <= letter <= "~" for letter in query):
        raise ValueError("a URL without a fragment, and quoted where it has to be")
    return given


def header_files(value: object) -> tuple[str, ...]:
    """Return headers, each as NAME=FILE, from a list or a text that separates them by commas."""
    expected = "a list of NAME=FILE, such as Authorization=/etc/reprieve/token"
    pairs = value.split(",") if isinstance(value, str) else value
    if not isinstance(pairs, list) or not all(isinstance(pair, str) for pair in pairs):
        raise ValueError(expected)
    split = [pair.strip().partition("=") for pair in pairs]
    for name, _, file in split:
        if not _HEADER.fullmatch(name) or name.lower() in _NOT_HEADERS or not file:
            raise ValueError(expected)
    return tuple(f"{name}={setting_values.path(file)}" for name, _, file in split)


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "url": webhook_url,
        "url_file": setting_values.path,
        "preset": setting_values.one_of(*PRESETS),
        "template": template,
        "header_files": header_files,
        "key_file": setting_values.path,
        "limit_s": setting_values.seconds,
        "proxy": setting_values.one_of(NO_PROXY, BY_ENVIRONMENT),
    }
)
