"""Files of results that are none."""

import json
from pathlib import Path
from typing import Any

import pytest
from page.__main__ import main
from page.stored import Stored, StoredError, read, read_all

GOOD = Stored(
    bench="plan",
    ran_at="2026-12-01T12:00:00+00:00",
    commit="0123456789ab",
    size="small",
    wall_s=3.2,
    machine={"cores": 2, "load_1min": 0.1},
    result={"missed": False, "played_s": 5.0, "plan_s": 0.5, "target": {"played_s": 10.0}},
    error=None,
)


def test_result_is_what_it_was_when_it_is_read_again(tmp_path: Path) -> None:
    """Nothing is lost in the file."""
    assert read(GOOD.write(tmp_path)) == GOOD


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"bench": "sampler"}, "holds the result of 'sampler'"),
        ({"wall_s": "long"}, "wall_s is 'long'"),
        ({"result": None}, "either a result or an error"),
        ({"error": "it hung"}, "either a result or an error"),
        ({"result": {"played_s": 5.0}}, "whether its target was missed"),
        ({"more": 1}, "not a result of `make bench`"),
    ],
)
def test_file_is_refused_when_it_is_not_whole(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    """With the file's name, and what is wrong in it."""
    path = GOOD.write(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(StoredError, match=why) as refused:
        read(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00\xff", '"plan"'])
def test_page_is_refused_with_status_2_when_a_file_is_garbage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """One line that names the file, and no traceback; an older page stays."""
    GOOD.write(tmp_path)
    (tmp_path / "sampler.json").write_bytes(text.encode("latin-1"))
    page = tmp_path / "page.html"
    assert main(["--only-page", f"--results={tmp_path}", f"--page={page}"]) == 2
    assert str(tmp_path / "sampler.json") in capsys.readouterr().err
    assert not page.exists()


def test_figure_is_named_when_a_result_lacks_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a file from before a bench was changed."""
    path = GOOD.write(tmp_path)
    path.write_text(path.read_text().replace("plan_s", "planned_s"))
    assert main(["--only-page", f"--results={tmp_path}", f"--page={tmp_path / 'page'}"]) == 2
    assert "plan: plan_s is None, and no figure" in capsys.readouterr().err


def test_folder_is_refused_when_nothing_has_run_yet(tmp_path: Path) -> None:
    """An empty page would look like one without faults."""
    with pytest.raises(StoredError, match="no results; `make bench` writes them"):
        read_all(tmp_path)
