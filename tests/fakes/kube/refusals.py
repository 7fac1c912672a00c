"""Answers that are no success, each as the ``Status`` object that the API server sends."""

from collections.abc import Mapping

from tests.fakes.kube.kinds import Kind, Obj

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class Refusal(Exception):  # noqa: N818 - it is what the server says, not an error of the fake
    """Raised to answer with a Status of failure."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Obj | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.headers = dict(headers or {})

    @property
    def body(self) -> Obj:
        """The Status object."""
        status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        return status | ({"details": self.details} if self.details else {})


def success(code: int) -> Obj:
    """Return the Status of what has no object to show."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": code,
    }


def not_found(kind: Kind, name: str) -> Refusal:
    """There is no such object."""
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return Refusal(404, "NotFound", f'{kind.qualified} "{name}" not found', details)


def conflict(kind: Kind, name: str, why: str = MODIFIED) -> Refusal:
    """The object is not the one that was meant any more."""
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    message = f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}'
    return Refusal(409, "Conflict", message, details)


def already_exists(kind: Kind, name: str) -> Refusal:
    """An object of that name is there."""
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return Refusal(409, "AlreadyExists", f'{kind.qualified} "{name}" already exists', details)


def invalid(kind: Kind, name: str, field: str, why: str) -> Refusal:
    """The object makes no sense."""
    causes = [{"reason": "FieldValueInvalid", "message": why, "field": field}]
    details = {"name": name, "group": kind.group, "kind": kind.kind, "causes": causes}
    message = f'{kind.kind} "{name}" is invalid: {field}: {why}'
    return Refusal(422, "Invalid", message, details)


def bad_request(why: str) -> Refusal:
    """The request makes no sense."""
    return Refusal(400, "BadRequest", why)


def internal(why: str) -> Refusal:
    """The server could not do it; for two budgets it never can."""
    message = f"Internal error occurred: {why}"
    return Refusal(500, "InternalError", message, {"causes": [{"message": why}]})


def expired(asked: int, oldest: int) -> Refusal:
    """What has happened since then is forgotten."""
    return Refusal(410, "Expired", f"too old resource version: {asked} ({oldest})")


def unauthorized() -> Refusal:
    """The token is none, or of yesterday."""
    return Refusal(401, "Unauthorized", "Unauthorized")


def budget_violated(cause: str, retry_after_s: int | None = None) -> Refusal:
    """An eviction that a PodDisruptionBudget does not allow at the moment."""
    causes = [{"reason": "DisruptionBudget", "message": cause}]
    details: Obj = {"causes": causes}
    headers = {}
    if retry_after_s is not None:
        details["retryAfterSeconds"] = retry_after_s
        headers["Retry-After"] = str(retry_after_s)
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return Refusal(429, "TooManyRequests", message, details, headers)


def busy(retry_after_s: int = 1) -> Refusal:
    """The API server has too much to do (API priority and fairness)."""
    return Refusal(
        429,
        "TooManyRequests",
        "Too many requests, please try again later.",
        {"retryAfterSeconds": retry_after_s},
        {"Retry-After": str(retry_after_s)},
    )


def timed_out() -> Refusal:
    """The API server could not get an answer out of etcd in time."""
    message = "The request timed out while waiting for a response from the storage backend"
    return Refusal(504, "Timeout", message)


def forbidden(why: str = "for a test") -> Refusal:
    """It may not be done, whoever asks."""
    return Refusal(403, "Forbidden", f"forbidden: {why}")
