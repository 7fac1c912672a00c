"""Telling that a checkpoint's optimizer or schedule is not the one that it is loaded into.

torch takes any: it leaves out parameters that it does not know, mixes groups that are cut
otherwise, and drops settings that the other kind of optimizer has not got, so that the first step
raises KeyError, or none does and another training goes on.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from trainer_hooks.errors import StateError

_NAMED = 3

Groups = Sequence[Mapping[str, Any]]
"""Parameter groups; each names its parameters under ``params``."""


def refuse_other_groups(ours: Groups, theirs: Groups) -> None:
    """See that the same parameters are trained, in the same groups, in whatever order.

    Raises:
        StateError: They are not; names some.
    """
    group_of = {name: number for number, group in enumerate(theirs) for name in group["params"]}
    trained = {name for group in ours for name in group["params"]}
    if differing := trained ^ group_of.keys():
        raise StateError(
            f"the checkpoint's optimizer trains other parameters: {_some(differing)} only "
            f"{'there' if differing <= group_of.keys() else 'here'}"
        )
    taken = [{group_of[name] for name in group["params"]} for group in ours if group["params"]]
    if any(len(numbers) > 1 for numbers in taken) or len(set.union(set(), *taken)) < len(taken):
        raise StateError(
            f"the checkpoint's optimizer has its parameters in other groups: {len(theirs)} there, "
            f"{len(ours)} here, or cut otherwise; build them as they were"
        )


def refuse_other_kind(what: str, ours: AbstractSet[str], theirs: AbstractSet[str]) -> None:
    """See that two states are of one kind of thing, by the names of what they hold.

    A newer torch holds more in the same thing, and so does a setting that is on; one that holds
    less on either side is another.

    Raises:
        StateError: They are not; names what each has alone.
    """
    here, there = ours - theirs, theirs - ours
    if here and there:
        raise StateError(
            f"the checkpoint is of another {what}: {_some(there)} only there, {_some(here)} only "
            "here; build the one that it was made with"
        )


def names_in(optimizer: Mapping[str, Any]) -> AbstractSet[str]:
    """Return the names of an optimizer's settings, and of what it keeps of a parameter."""
    of_state = {str(name) for kept in optimizer["state"].values() for name in kept}
    return of_state.union(*optimizer["param_groups"])


def _some(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:_NAMED]) + (" ..." if len(ordered) > _NAMED else "")
