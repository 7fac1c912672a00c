"""Opening a store of objects: what it is asked with, how long, and what is said when it refuses."""

import os
from datetime import timedelta
from pathlib import Path

from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from trainer_hooks.errors import ConfigError

PATIENCE = timedelta(seconds=60)
"""A store that is in trouble for longer fails the save; training goes on."""

_ANSWER = timedelta(seconds=60)
"""Of one request."""

_SAID = 300
"""Characters of what a store says; what is wrong stands at the end of the line."""

_CREDENTIALS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_"),
    "gs": ("GOOGLE_",),
    "az": ("AZURE_", "IDENTITY_ENDPOINT"),
}
"""What the variables that hold any begin with."""

_GCLOUD = Path(".config/gcloud/application_default_credentials.json")


def open_store(url: str) -> ObjectStore:
    """Open what a URL names.

    Raises:
        ConfigError: It names none.
    """
    try:
        if url.startswith("file://"):
            return LocalStore(url.removeprefix("file://"), automatic_cleanup=True, mkdir=True)
        return from_url(
            url,
            client_options={"timeout": _ANSWER, "allow_http": _allows_http()},
            retry_config={"max_retries": 5, "retry_timeout": PATIENCE},
        )
    except (BaseError, ValueError, OSError) as error:
        raise ConfigError(f"{url} cannot be opened: {said(url, error)}") from error


def said(url: str, error: Exception) -> str:
    """Return what a store says, in a line; and whose credentials it was asked with, if not ours."""
    line = str(error).partition("\n")[0]
    if len(line) > _SAID:
        line = f"{line[: _SAID // 2]} ... {line[-_SAID // 2 :]}"
    if has_credentials(url):
        return line
    return f"{line} (no credentials are set here, so this machine was asked for its own)"


def has_credentials(url: str) -> bool:
    """Tell whether this process was given any, or needs none."""
    scheme = url.partition(":")[0]
    begins = _CREDENTIALS.get(scheme)
    if begins is None or any(name.startswith(begins) for name in os.environ):
        return True
    return scheme == "gs" and (Path.home() / _GCLOUD).exists()


def _allows_http() -> bool:
    """Read what obstore reads itself, unless it is given other options of the client."""
    return os.environ.get("AWS_ALLOW_HTTP", "").lower() in {"1", "true"}
