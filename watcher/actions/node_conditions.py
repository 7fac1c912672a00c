"""Which conditions of ours are to be taken off the Node; they are in no patch of it. Pure."""

from collections.abc import Iterator

from watcher.actions.node_plan import Step, Wanted
from watcher.actions.node_state import NodeState
from watcher.kube.keys import CONDITION
from watcher.kube.replacement import Ask, AskPlace


def may_have_conditions(wanted: Wanted, ask: Ask | None) -> bool:
    """Tell whether one may be there that nothing wants: only then is the Node read for it."""
    return Step.MARK not in wanted or (_is_condition(ask) and Step.REPLACE not in wanted)


def unwanted_conditions(left: NodeState | None, wanted: Wanted, ask: Ask | None) -> Iterator[str]:
    """Yield the types of those that are on the Node and that nothing wants any more.

    Args:
        left: What the Node says of what we have done. Whoever can write a Node can write that, so
            no condition is taken off for it but ours and the one that is set.
        wanted: What is wanted.
        ask: How another Node is asked for, if at all.
    """
    if left is None:
        return
    if left.done.is_marked and Step.MARK not in wanted:
        yield CONDITION
    asked = left.done.asked
    if ask is None or not _is_condition(ask) or Step.REPLACE in wanted or asked is None:
        return
    if (asked.place, asked.key) == (ask.place, ask.key):
        yield ask.key


def _is_condition(ask: Ask | None) -> bool:
    return ask is not None and ask.place is AskPlace.CONDITION
