"""What is one cloud's own of `reprieve-watcher simulate`."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from watcher.simulator.changes import Change
from watcher.simulator.scenario import Scenario
from watcher.simulator.vocabulary import Words


@dataclass(frozen=True, kw_only=True, slots=True)
class Examples:
    """What of the examples on a cloud's page of help is its own.

    ``about`` says what comes ten seconds after ``flag`` with that number, and ``change`` is the
    same in a file; ``by_hand`` are calls of the control path.
    """

    about: str
    flag: str
    change: str
    by_hand: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedCloud:
    """How the command line and scenario files speak of one cloud.

    ``description`` and ``examples`` are its page of help, ``fault_kinds`` the kinds of fault that
    only it has. ``changes_of`` reads the flags that say what happens, and ``instance_of`` those
    that say to which instance, as keys of a file's `instance`: they win over the file's.
    ``scenario`` makes both into one. Each of the three raises ScenarioError for nonsense.
    """

    summary: str
    description: str
    examples: Examples
    words: Words
    fault_kinds: tuple[str, ...]
    add_flags: Callable[[argparse.ArgumentParser], None]
    changes_of: Callable[[argparse.Namespace], tuple[Change, ...]]
    instance_of: Callable[[argparse.Namespace], Mapping[str, object]]
    scenario: Callable[[Mapping[str, object], tuple[Change, ...]], Scenario]
