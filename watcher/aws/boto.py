"""The only door to boto3: clients that never hang, and AWS's refusals in our words.

boto3 costs half a second and 45 MB, so it is loaded by the first client that is made, and its
calls block, so they are made in :class:`watcher.aws.limited_calls.LimitedCalls`.
"""

import contextlib
import importlib.util
import threading
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from watcher.errors import AwsCallFailed, ConfigError, first_line

CONNECT_LIMIT_S = 3.0
"""Longest wait for a connection, in seconds."""

ANSWER_LIMIT_S = 5.0
"""Longest wait for an answer, in seconds, beyond the time that the call itself asks AWS to wait."""

PAGE_LIMIT = 100
"""Pages after which an answer is taken to be endless; a page has 100 entries or more."""

_THROTTLED = ("Throttl", "RequestLimitExceeded", "TooManyRequests", "OverLimit", "SlowDown")
_FORBIDDEN = ("AccessDenied", "AuthorizationError", "UnauthorizedOperation", "Forbidden")
_EXPIRED = ("ExpiredToken", "TokenRefreshRequired")
_CREDENTIALS = ("InvalidClientTokenId", "UnrecognizedClient", "SignatureDoesNot")
_MISSING = ("NonExistentQueue", "QueueDoesNotExist")

_NOT_SET_UP: Mapping[str, str] = MappingProxyType(
    {
        "NoRegionError": "no_region",
        "InvalidRegionError": "no_region",
        "ProfileNotFound": "no_profile",
        "ConfigParseError": "no_profile",
        "PartialCredentialsError": "partial_credentials",
        "CredentialRetrievalError": "credentials",
        "TokenRetrievalError": "expired_token",
        "SSOTokenLoadError": "expired_token",
        "UnauthorizedSSOTokenError": "expired_token",
    }
)
"""The metric's word for what botocore raises before it asks AWS, by the name of its class.
Source: botocore 1.44, botocore/exceptions.py."""


def require_boto3(what_for: str) -> None:
    """Make sure that boto3 is installed, without loading it.

    Raises:
        ConfigError: It is not; names the extra that brings it.
    """
    if importlib.util.find_spec("boto3") is None:
        raise ConfigError(f"{what_for} needs boto3: pip install 'reprieve[aws]'")


class LazyClient:
    """A boto3 client that is made when it is first needed, whichever thread needs it.

    Nothing is tried twice: each caller has its own idea of when to ask again.

    Args:
        service: boto3's name of the AWS service, such as ``sqs``.
        region: Where it is; None for what the environment says.
        wait_s: Seconds that a call of it may ask AWS to wait, as a long poll does.
    """

    def __init__(self, service: str, region: str | None, *, wait_s: float = 0.0) -> None:
        self._service = service
        self._region = region
        self._wait_s = wait_s
        self._making = threading.Lock()
        self._made: Any = None

    def get(self) -> object:
        """Return the client; blocks.

        Raises:
            AwsCallFailed: The environment says neither a region nor where to find one.
        """
        with self._making, failing_as(f"client for {self._service}"):
            if self._made is None:
                self._made = self._make()
            return cast("object", self._made)

    def close(self) -> None:
        """Close the connections that are not in use."""
        if self._made is not None:
            self._made.close()

    def renew(self) -> None:
        """Let the next get make another client, with connections and credentials of its own.

        For when a call hangs, or even the making of the client; it goes on in the one it has.
        """
        self.close()
        self._making, self._made = threading.Lock(), None

    def _make(self) -> object:
        import boto3  # noqa: PLC0415 - loaded only where AWS's APIs are used
        from botocore.config import Config  # noqa: PLC0415 - as above

        config = Config(
            connect_timeout=CONNECT_LIMIT_S,
            read_timeout=self._wait_s + ANSWER_LIMIT_S,
            retries={"mode": "standard", "total_max_attempts": 1},
            user_agent_extra="reprieve-watcher",
        )
        # A session of its own: boto3's default one must not be shared between threads.
        session = boto3.session.Session(region_name=self._region)
        return cast("object", session.client(self._service, config=config))


@contextlib.contextmanager
def failing_as(what: str) -> Iterator[None]:
    """Raise what boto3 raises in the block as AwsCallFailed; ``what`` names the call for people.

    Raises:
        AwsCallFailed: AWS refused the call, or was not reached.
    """
    from botocore.exceptions import (  # noqa: PLC0415 - loaded only where AWS's APIs are used
        BotoCoreError,
        ClientError,
        ConnectTimeoutError,
        NoCredentialsError,
        ReadTimeoutError,
    )

    try:
        yield
    except ClientError as error:
        refusal: dict[str, Any] = error.response.get("Error", {})
        code, said = str(refusal.get("Code", "")), first_line(str(refusal.get("Message", "")))
        message = f"{what}: {code}: {said}"[:512]
        raise AwsCallFailed(message, outcome=_outcome(code), code=code) from error
    except (ConnectTimeoutError, ReadTimeoutError) as error:
        raise AwsCallFailed(f"{what}: {error}"[:512], outcome="timeout") from error
    except NoCredentialsError as error:
        hint = "give the instance a role, or the process AWS credentials"
        raise AwsCallFailed(f"{what}: no credentials: {hint}", outcome="credentials") from error
    except (BotoCoreError, OSError) as error:
        outcome = _NOT_SET_UP.get(type(error).__name__, "connection")
        raise AwsCallFailed(f"{what}: {first_line(str(error))}"[:512], outcome=outcome) from error
    except AwsCallFailed:
        raise
    except Exception as error:  # botocore raises any class at an answer that is not AWS's
        raise AwsCallFailed(
            f"{what}: not AWS's answer: {type(error).__name__}: {error}"[:512], outcome="malformed"
        ) from error


def pages(
    what: str, ask: Callable[..., Mapping[str, Any]], **arguments: object
) -> Iterator[Mapping[str, Any]]:
    """Yield every page of what ``ask`` answers to ``arguments``; ``what`` is as for failing_as.

    Raises:
        AwsCallFailed: AWS refused a page or was not reached, or there is no end of pages.
    """
    for _ in range(PAGE_LIMIT):
        with failing_as(what):
            page = ask(**arguments)
        yield page
        if not page.get("NextToken"):
            return
        arguments["NextToken"] = page["NextToken"]
    raise AwsCallFailed(f"{what}: has no end", outcome="malformed")


def _outcome(code: str) -> str:
    """Return the metric's word for a refusal; AWS spells its codes with many prefixes."""
    for outcome, parts in (
        ("throttled", _THROTTLED),
        ("forbidden", _FORBIDDEN),
        ("expired_token", _EXPIRED),
        ("credentials", _CREDENTIALS),
        ("no_queue", _MISSING),
    ):
        if any(part in code for part in parts):
            return outcome
    return "refused"
