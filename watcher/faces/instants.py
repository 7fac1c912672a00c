"""How /v1/state says when: twice, in RFC 3339 and in seconds."""

from datetime import datetime

from watcher.notice import rfc3339

Json = str | float | bool | list["Json"] | dict[str, "Json"] | None


def instant(name: str, wall: datetime | None) -> dict[str, Json]:
    """Return ``<name>_at`` and ``<name>_unix_s``, both null where it has not happened."""
    return {
        f"{name}_at": rfc3339(wall) if wall else None,
        f"{name}_unix_s": wall.timestamp() if wall else None,
    }
