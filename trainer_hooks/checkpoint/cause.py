"""What a failure of DCP was about."""


def root_cause(error: BaseException) -> str:
    """Return what happened on which rank, without DCP's wrapping of it."""
    failures = getattr(error, "failures", None)
    if isinstance(failures, dict) and failures:
        return "; ".join(f"rank {rank}: {wrapped[0]!r}" for rank, wrapped in failures.items())
    return str(error) or repr(error)
