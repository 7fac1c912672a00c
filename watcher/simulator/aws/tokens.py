"""IMDSv2 session tokens: minted for some seconds, unknown afterwards."""

import logging
import secrets
from dataclasses import dataclass

from watcher.simulator.clock import ScenarioClock

log = logging.getLogger(__name__)

MAX_TOKEN_TTL_S = 21_600
"""Longest life of a token, in seconds. Source: EC2 user guide, IMDSv2 (read 2026-11-30)."""


@dataclass(frozen=True, slots=True)
class Token:
    """An opaque text and the seconds it was granted."""

    text: str
    ttl_s: int


class Tokens:
    """The tokens of one instance. Any number may be valid side by side, as at EC2.

    Args:
        clock: Tells their age.
        ttl_cap_s: The longest life granted, in seconds, whatever was asked for.
    """

    def __init__(self, clock: ScenarioClock, ttl_cap_s: int) -> None:
        self._clock = clock
        self._ttl_cap_s = ttl_cap_s
        self._expires_at_s: dict[str, float] = {}

    def mint(self, ttl_s: int) -> Token:
        """Make a token that lives ``ttl_s`` seconds, or as many as the cap allows."""
        now_s = self._clock.elapsed_s()
        # The dead leave here, so that a client that mints for every poll can't fill the memory.
        self._expires_at_s = {
            text: expires for text, expires in self._expires_at_s.items() if expires > now_s
        }
        token = Token(secrets.token_urlsafe(40), min(ttl_s, self._ttl_cap_s))
        self._expires_at_s[token.text] = now_s + token.ttl_s
        return token

    def seconds_left(self, text: str | None) -> int | None:
        """Return the whole seconds that the token has left; None if it is unknown or expired."""
        if text is None or text not in self._expires_at_s:
            return None
        left_s = self._expires_at_s[text] - self._clock.elapsed_s()
        return int(left_s) if left_s > 0 else None

    def expire_all(self) -> None:
        """Forget every token minted so far, as a restart of the metadata service does."""
        self._expires_at_s.clear()
        log.info("tokens expired")
