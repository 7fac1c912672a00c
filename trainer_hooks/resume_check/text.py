"""A verdict in words."""

from collections.abc import Iterator

from trainer_hooks.resume_check.verdict import Verdict


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict for people; its last line says SAME or DIFFERS."""
    return "\n".join(_lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.steps} steps without a break, against {len(verdict.starts)} starts:"
    for number, start in enumerate(verdict.starts, start=1):
        ranks = "1 rank" if start.ranks == 1 else f"{start.ranks} ranks"
        yield f"{number:9}  steps {start.first_step} to {start.last_step} on {ranks}"
    yield ""
    for one in verdict.comparisons:
        yield f"{one.count:9}  {one.aspect:14} {one.difference or 'same'}"
    yield ""
    for cause in verdict.causes:
        yield f"  perhaps: {cause}"
    difference = verdict.difference
    if difference is not None:
        yield f"DIFFERS {difference.aspect}: {difference.difference}"
    elif verdict.tolerance is None:
        yield "SAME bit by bit"
    else:
        yield f"SAME losses within {verdict.tolerance:g}, all else exactly"
