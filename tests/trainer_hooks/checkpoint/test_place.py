"""What a path or a URL names, before anything lies there."""

from pathlib import Path

import pytest

from trainer_hooks import LocalSaves
from trainer_hooks.checkpoint.place import place_of
from trainer_hooks.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:///shared/run-7", "/shared/run-7"),
        ("file://localhost/shared/run-7/", "/shared/run-7"),
        ("file:///shared/a%20run", "/shared/a run"),
        ("/shared/100%25", "/shared/100%25"),
    ],
)
def test_place_is_a_path_when_its_url_is_a_files(url: str, path: str) -> None:
    """With all that a path has: a bucket's library would sync nothing of what it writes there."""
    assert place_of(url) == Path(path)


def test_place_comes_back_when_a_path_is_made_a_url(tmp_path: Path) -> None:
    """Whatever its name is made of."""
    odd = tmp_path / "50% of #7? yes"
    assert place_of(odd.as_uri()) == odd


@pytest.mark.parametrize("url", ["file://run-7", "file://host/run-7", "file://"])
def test_url_is_refused_when_it_names_no_file_of_this_machine(url: str) -> None:
    """And it is said what to write instead."""
    with pytest.raises(ConfigError, match="pass the path, or file:///path"):
        place_of(url)


def test_place_is_refused_when_its_name_is_empty() -> None:
    """A variable that is not set must not mean the working directory."""
    with pytest.raises(ConfigError, match="name is empty"):
        place_of("")


def test_local_saves_take_a_files_url_when_it_names_a_path() -> None:
    """As the checkpoint directory does; and no bucket."""
    assert LocalSaves(directory="file:///nvme/run", save_every=1).path == Path("/nvme/run")
    with pytest.raises(ConfigError, match="node's own disk"):
        LocalSaves(directory="s3://bucket/run", save_every=1)
