"""requirements/locked: every version and every byte of what is installed, and no more."""

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.image_root import ROOT, closure

LOCKED = ROOT / "requirements" / "locked"
PARTS = ("base", "logind", "aws", "gcp")
ADVICE = "after a change of pins: make lock"


def locked(part: str) -> dict[str, tuple[Requirement, list[str]]]:
    """Return the requirements of a lock file and their hashes, by name."""
    text = (LOCKED / f"{part}.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found: dict[str, tuple[Requirement, list[str]]] = {}
    for line in lines:
        words, *hashes = line.split(" --hash=")
        requirement = Requirement(words)
        found[canonicalize_name(requirement.name)] = (requirement, [one.strip() for one in hashes])
    return found


def pins() -> dict[str, str]:
    """Return the versions in requirements/dev.txt."""
    lines = (ROOT / "requirements" / "dev.txt").read_text().split()
    return {
        canonicalize_name(name): f"=={version}"
        for name, version in (line.split("==") for line in lines)
    }


@pytest.mark.parametrize("part", [*PARTS, "build", "dev"])
def test_requirement_has_one_version_and_its_hashes_whatever_it_is(part: str) -> None:
    """An index that sends other bytes for it is not believed."""
    found = locked(part)
    assert found
    for requirement, hashes in found.values():
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes), requirement


def test_tests_have_every_pin_locked_but_that_of_pytorch() -> None:
    """Its builds share a version and no bytes, so it is the one that has no hash."""
    versions = {name: str(one.specifier) for name, (one, _) in locked("dev").items()}
    assert versions == {name: pin for name, pin in pins().items() if name != "torch"}, ADVICE


@pytest.mark.parametrize("part", [*PARTS, "build"])
def test_version_is_the_one_that_tests_have_whatever_is_locked(part: str) -> None:
    """What is installed on a node has been tested; what only another platform needs has not."""
    known = pins()
    for name, (requirement, _) in locked(part).items():
        is_needed = requirement.marker is None or requirement.marker.evaluate()
        if is_needed or name in known:
            assert known[name] == str(requirement.specifier), ADVICE


@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_missing_and_nothing_is_too_much_when_a_part_is_installed(part: str) -> None:
    """It is installed without looking for dependencies, so it has to be all of them."""
    needed = set(closure(part)) if part != "base" else _base()
    here = {
        name
        for name, (requirement, _) in locked(part).items()
        if requirement.marker is None or requirement.marker.evaluate()
    }
    assert here == needed, ADVICE


def _base() -> set[str]:
    """Return what all parts share: dbus-fast needs nothing else."""
    return set(closure("logind")) - {"dbus-fast"}
