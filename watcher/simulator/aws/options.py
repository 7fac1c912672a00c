"""The instance's metadata options: who is let in, and whom the token reaches.

Source: EC2 user guide, "Configure the instance metadata options"; names and defaults of the API
model's ModifyInstanceMetadataOptions (read 2026-11-30).
"""

import logging
from dataclasses import dataclass
from enum import StrEnum

from watcher.simulator.changes import Change

log = logging.getLogger(__name__)

MAX_HOPS = 64
"""Largest HttpPutResponseHopLimit that EC2 takes."""


class HttpTokens(StrEnum):
    """Whether a GET without a token (IMDSv1) is answered."""

    REQUIRED = "required"
    OPTIONAL = "optional"


class HttpEndpoint(StrEnum):
    """Whether the service answers at all, other than with 403."""

    ENABLED = "enabled"
    DISABLED = "disabled"


@dataclass(frozen=True, kw_only=True, slots=True)
class MetadataOptions:
    """The options in force. The token reaches clients up to ``hop_limit`` network hops away."""

    http_tokens: HttpTokens = HttpTokens.REQUIRED
    http_endpoint: HttpEndpoint = HttpEndpoint.ENABLED
    hop_limit: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionsModified(Change):
    """Somebody modifies the options; None leaves one as it is."""

    http_tokens: HttpTokens | None = None
    http_endpoint: HttpEndpoint | None = None
    hop_limit: int | None = None

    def applied_to(self, old: MetadataOptions) -> MetadataOptions:
        """Return the options as they are after this."""
        return MetadataOptions(
            http_tokens=self.http_tokens or old.http_tokens,
            http_endpoint=self.http_endpoint or old.http_endpoint,
            hop_limit=self.hop_limit or old.hop_limit,
        )


class Access:
    """Who gets in at this moment.

    Args:
        options: The options at the start.
        hops: How far away the clients are: 1 on the instance itself, 2 in a bridged container.
    """

    def __init__(self, options: MetadataOptions, hops: int) -> None:
        self._options = options
        self._hops = hops

    @property
    def is_enabled(self) -> bool:
        """Whether the service answers other than with 403."""
        return self._options.http_endpoint is HttpEndpoint.ENABLED

    @property
    def needs_token(self) -> bool:
        """Whether a GET without a token is refused."""
        return self._options.http_tokens is HttpTokens.REQUIRED

    @property
    def token_arrives(self) -> bool:
        """Whether a token survives the way back; if not, its PUT is never answered."""
        return self._hops <= self._options.hop_limit

    def modify(self, change: OptionsModified) -> None:
        """Put the options that ``change`` names in force."""
        self._options = change.applied_to(self._options)
        log.info("metadata options modified %s", self._options)
