"""What can go wrong in the daemon.

::

    WatcherError
    ├── ConfigError             a setting or the machine's set-up is wrong; exit status 78
    ├── StartFailed             what a start needs can't be had now; exit status 1, start it again
    ├── FlagUnreadable          a file of an earlier run, damaged or void; it is removed
    ├── SourceFinished          a source ended by itself: a bug, it ends the daemon
    ├── CloudCallFailed         a cloud did not do what an API call asked for; its caller decides,
    │   │                       and a command of a person's ends with status 1
    │   ├── AwsCallFailed
    │   └── GcpCallFailed
    ├── KubeError               the Kubernetes API did not do what was asked; its caller decides
    │   ├── KubeUnavailable     no usable answer: time-out, refused, reset, 401, 5xx
    │   │   └── KubeThrottled   the API server asks for fewer requests: 429
    │   ├── KubeBlocked         an eviction that a disruption budget does not allow
    │   ├── KubeConflict        409: the object is another by now, or is there already
    │   ├── KubeForbidden       403
    │   ├── KubeNotFound        404
    │   ├── KubeGone            410: list again, then watch
    │   ├── KubeRefused         any other 4xx: the request makes no sense to this server
    │   └── KubeMalformed       an answer that is not the API server's
    ├── SourceError             it is *unknown* whether there is a notice; never "no notice"
    │   ├── SourceUnavailable   no usable answer: time-out, refused, reset, 401, 403, 5xx
    │   │   └── SourceThrottled the cloud asks for fewer requests: 429, 503
    │   └── SourceMalformed     an answer that is not the cloud's
    └── ActionError
        ├── ActionWaiting       its time has not come; asked again in a moment
        ├── ActionDryRun        it was only tried, as asked; no failure either
        ├── ActionRetryable     may work in a moment; tried again until the deadline
        └── ActionRefused       will not work; tried once

Each is caught by class at one place: ConfigError, StartFailed and SourceFinished in cli,
FlagUnreadable in flag_start and state_start, SourceError in supervise, ActionError in responder,
and in aside where it is not waited for. A message says what failed, where, and what to do.
"""

# ruff: noqa: N818 - SourceUnavailable says more than SourceUnavailableError, and the base says Error


class WatcherError(Exception):
    """Base of every error of the daemon; catch it only at the edge of the program."""


class ConfigError(WatcherError):
    """Raised when a setting can't be used or the machine is not set up for it."""


class StartFailed(WatcherError):
    """Raised when the machine lacks for a while what a start needs: space, descriptors, a disk."""


class FlagUnreadable(WatcherError):
    """Raised when a flag or state file can't be understood, or is none that this run can adopt."""


class SourceFinished(WatcherError):
    """Raised when a source's notices come to an end, which they never should."""


class CloudCallFailed(WatcherError):
    """Raised when a call of a cloud's API has failed.

    Attributes:
        outcome: One word of a small fixed set, fit for a metric's label.
        code: The cloud's own code, such as ``AccessDenied``; empty when it was not reached.
    """

    def __init__(self, message: str, *, outcome: str, code: str = "") -> None:
        super().__init__(message)
        self.outcome = outcome
        self.code = code


def escaped(text: str) -> str:
    r"""Return the text with what is not printable written as Python does, such as ``\x1b``.

    For whatever others have said and a person reads: nobody can begin a line of their own, or send
    a terminal commands.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def first_line(text: str) -> str:
    """Return what of a cloud's words may stand in a message, and so in a log.

    Only the first line: a refused signature repeats the request, token and all.
    """
    line = text.strip().partition("\n")[0]
    return "".join(c if c.isprintable() else "?" for c in line)


class AwsCallFailed(CloudCallFailed):
    """Raised when a call of an AWS API has failed."""


class GcpCallFailed(CloudCallFailed):
    """Raised when a call of a Google Cloud API has failed."""


class KubeError(WatcherError):
    """Base of what a call of the Kubernetes API can fail with."""


class KubeUnavailable(KubeError):
    """Raised when there was no usable answer; whether it was done is unknown."""


class KubeThrottled(KubeUnavailable):
    """Raised when the API server has too much to do.

    Attributes:
        retry_after_s: When it wants to be asked again, in seconds; None if it does not say.
    """

    def __init__(self, message: str, *, retry_after_s: float | None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class KubeBlocked(KubeError):
    """Raised when a disruption budget does not allow an eviction; no fault of the API server.

    Attributes:
        retry_after_s: When to ask again, in seconds; None if the server does not say.
    """

    def __init__(self, message: str, *, retry_after_s: float | None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class KubeConflict(KubeError):
    """Raised when the object is not the one that was meant any more, or is there already."""


class KubeForbidden(KubeError):
    """Raised when the account may not do it."""


class KubeNotFound(KubeError):
    """Raised when there is no such object."""


class KubeGone(KubeError):
    """Raised when the API server has forgotten what has happened since a version."""


class KubeRefused(KubeError):
    """Raised when the API server can't make sense of a request, or admission denies it."""


class KubeMalformed(KubeError):
    """Raised when an answer came that is not the API server's."""


class SourceError(WatcherError):
    """Raised when a source could not learn whether there is a notice.

    Attributes:
        outcome: One word of a small fixed set, fit for a metric's label.
        key: Which of the source's keys is unknown; the source sets it.
    """

    def __init__(self, message: str, *, outcome: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.key = ""


class SourceUnavailable(SourceError):
    """Raised when the cloud gave no usable answer."""


class SourceThrottled(SourceUnavailable):
    """Raised when the cloud asked for fewer requests."""


class SourceMalformed(SourceError):
    """Raised when an answer came that is not the cloud's."""

    def __init__(self, message: str) -> None:
        super().__init__(message, outcome="malformed")


class ActionError(WatcherError):
    """Base of what an action reports; the other actions go on regardless."""


class ActionWaiting(ActionError):
    """Raised when an action has nothing to do yet; not a failure."""


class ActionDryRun(ActionError):
    """Raised when all was done up to the write, because the daemon only tries; not a failure."""


class ActionRetryable(ActionError):
    """Raised when an action failed in a way that may pass.

    Attributes:
        after_s: How long whoever refused it wants to be left alone, in seconds; 0 if not said.
    """

    def __init__(self, message: str, *, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class ActionRefused(ActionError):
    """Raised when an action failed and trying again can't help."""
