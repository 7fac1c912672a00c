"""What a user of ours has to accept besides our own licence."""

import functools
import json
import re

from tests.support.licences import ALLOWED, REPORT, listed, report, user_packages

ADVICE = "after a change of pins: make licences"


@functools.cache
def licences() -> dict[str, list[str]]:
    """Return the licences that each package names; an expression's parts one by one."""
    found = json.loads(listed("--format=json"))
    return {one["Name"]: re.split(r"; | AND | OR ", one["License"]) for one in found}


def test_licence_is_one_that_may_be_passed_on_whatever_the_package_is() -> None:
    """Nothing that reaches a user's machine asks for more than a notice, or is unknown."""
    found = licences()
    assert len(found) == len(user_packages())
    assert {name: own for name, own in found.items() if not set(own) <= set(ALLOWED)} == {}


def test_list_allows_nothing_that_no_package_needs() -> None:
    """A licence that nobody has any more leaves the list, before somebody has it again."""
    assert {one for own in licences().values() for one in own} == set(ALLOWED)


def test_report_is_what_is_installed_when_it_is_read() -> None:
    """The page in docs is neither older nor younger than the pins."""
    assert REPORT.read_text() == report(), ADVICE
