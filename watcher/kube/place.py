"""Where the API server is, and with what one shows who one is."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from watcher.errors import ConfigError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its service account. Source: Kubernetes documentation, "Accessing the
Kubernetes API from a Pod" (read 2026-11-30)."""

TOKEN_FILE = ACCOUNT / "token"
AUTHORITY_FILE = ACCOUNT / "ca.crt"


@dataclass(frozen=True, slots=True)
class Place:
    """One API server, as one account reaches it."""

    url: str
    token_file: Path = TOKEN_FILE
    authority_file: Path = AUTHORITY_FILE
    """Who has signed the server's certificate; for https alone."""

    def tls(self) -> ssl.SSLContext | None:
        """Return what checks the server's certificate; None without TLS. Blocks.

        Raises:
            ConfigError: The authority's file can't be read.
        """
        if not self.url.startswith("https:"):
            return None
        try:
            return ssl.create_default_context(cafile=self.authority_file)
        except OSError as error:  # ssl.SSLError is one
            raise ConfigError(
                f"{self.authority_file}: {error.strerror or error}. It has to hold the certificate "
                "of the API server's authority; in a pod the service account's volume has it"
            ) from error
