"""/openapi.json: that the description is one, and describes what is served and nothing else.

What is answered is held against it where each face is tested, and by schemathesis in
test_openapi_live.py.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import pytest
from openapi_spec_validator import validate

from tests.support.described import DESCRIPTION, check_described
from tests.support.served_faces import served_faces
from watcher.cloud import Cloud
from watcher.config import Config
from watcher.daemon import Daemon
from watcher.faces import notice_face, openapi
from watcher.notice import NoticeKind, Urgency
from watcher.sources.road import Opened
from watcher.trainers import TrainerState


def words(schema: str, *path: str) -> list[str]:
    """Return the words that a field may have, by the description."""
    found = DESCRIPTION["components"]["schemas"][schema]
    for name in path:
        found = found["properties"][name]
    return sorted(found["enum"])


def test_description_is_openapi_3_1() -> None:
    """By the specification's own schema; every reference leads somewhere."""
    assert DESCRIPTION["openapi"].startswith("3.1.")
    validate(DESCRIPTION)


def test_description_has_every_route_and_no_other(run_dir: Path) -> None:
    """Those of the daemon's own listener, and the one for pods that see no file."""
    daemon = Daemon(Config(run_dir=run_dir, node="node-a"), (), "boot-a", (), Cloud("aws", "set"))
    served = {*daemon._routes(Opened(sources=())), notice_face.PATH}
    assert set(DESCRIPTION["paths"]) == served


def test_description_asks_only_for_what_is_read() -> None:
    """The faces answer GET, and nothing else is described."""
    methods = {name for path in DESCRIPTION["paths"].values() for name in path} - {"servers"}
    assert methods == {"get"}


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (("Kind",), NoticeKind),
        (("Urgency",), Urgency),
        (("Trainer", "state"), TrainerState),
    ],
)
def test_description_has_every_word_of_the_code(said: Iterable[str], known: type[StrEnum]) -> None:
    """A kind that is added is added there too."""
    assert words(*said) == sorted(known)


async def test_description_is_served_as_it_is_in_the_package() -> None:
    """Whoever has the daemon has its description."""
    async with served_faces({openapi.PATH: openapi.openapi}) as faces:
        status, body = await faces.ask(openapi.PATH)
    assert (status, json.loads(body)) == (200, DESCRIPTION)


def test_check_fails_when_a_field_is_missing_or_not_described() -> None:
    """What the other tests of the faces rely on."""
    for fields in ({"ready": True}, {"ready": True, "unfit": [], "more": 1}):
        with pytest.raises(AssertionError):
            check_described("Readiness", fields)
