"""EventBridge's pattern language, and SNS's for bodies, as far as our patterns use it.

What is not used is an error here, so that a pattern can't pass by being misunderstood.
Source: EventBridge user guide, "Comparison operators"; SNS developer guide, "Payload-based message
filtering" (read 2026-11-30).
"""

from collections.abc import Mapping


def matches(pattern: Mapping[str, object], said: object) -> bool:
    """Tell whether every key of the pattern finds a value that it allows."""
    if isinstance(said, list):
        return any(matches(pattern, item) for item in said)
    if not isinstance(said, Mapping):
        return False
    return all(_allows(name, wanted, said) for name, wanted in pattern.items())


def _allows(name: str, wanted: object, said: Mapping[str, object]) -> bool:
    if name == "$or":
        if not isinstance(wanted, list) or len(wanted) < 2:
            raise ValueError("$or takes a list of at least two patterns")
        return any(matches(alternative, said) for alternative in wanted)
    if isinstance(wanted, Mapping):
        return matches(wanted, said.get(name))
    if not isinstance(wanted, list) or not wanted:
        raise ValueError(f"{name}: a pattern ends in a list of what is allowed")
    if name not in said:
        return False
    value = said[name]
    found = value if isinstance(value, list) else [value]
    return any(_is_allowed(rule, item) for rule in wanted for item in found)


def _is_allowed(rule: object, value: object) -> bool:
    match rule:
        case str():
            return value == rule
        case {"prefix": str(prefix), **rest} if not rest:
            return isinstance(value, str) and value.startswith(prefix)
        case {"exists": True, **rest} if not rest:
            return True
        case _:
            raise ValueError(f"no rule that is known here: {rule!r}")
