"""The changes in words: one vocabulary for scenario files and for the control path.

In a file, `{at_s = 10, change = "notice", window_s = 30}`; now, by hand, `POST /simulator/notice`
with `{"window_s": 30}`. Every change is one row of a table: its name, fields, and how it is made.
The rows here are those of every cloud; each cloud adds its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher.simulator.changes import Change, FaultsArmed, FaultsLifted
from watcher.simulator.fault_fields import FAULT_FIELDS, SCRIPT_FIELDS, parse_fault, parse_script
from watcher.simulator.values import refuse_unknown

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Word:
    """One name of the vocabulary: the fields that may go with it, and how its change is made."""

    fields: tuple[str, ...]
    make: Callable[[float, Fields], Change]


Words = Mapping[str, Word]


def change_of(words: Words, name: str, fields: Fields, at_s: float) -> Change:
    """Return the change that ``name`` and ``fields`` describe in ``words``, at second ``at_s``.

    Raises:
        ScenarioError: There is no such change, or a field is unknown, missing or out of range.
    """
    refuse_unknown("change", [name], words)
    refuse_unknown("field", fields, words[name].fields)
    return words[name].make(at_s, fields)


SHARED_WORDS: Words = MappingProxyType(
    {
        "fault": Word(
            FAULT_FIELDS,
            lambda at_s, fields: FaultsArmed(at_s=at_s, faults=(parse_fault(fields),)),
        ),
        "script": Word(
            SCRIPT_FIELDS,
            lambda at_s, fields: FaultsArmed(at_s=at_s, faults=parse_script(fields)),
        ),
        "lift_faults": Word((), lambda at_s, _: FaultsLifted(at_s=at_s)),
    }
)
"""The changes that every cloud has, by their names."""
