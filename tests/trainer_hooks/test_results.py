"""Result files: a rank's last word, whole, or none."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.at_stop import AtStop
from trainer_hooks.results import (
    RESULT_DIR_VARIABLE,
    Cause,
    RankResult,
    RankState,
    read_result,
    report_result,
    write_result,
)

RESULTS = st.builds(
    RankResult,
    state=st.sampled_from(RankState),
    pid=st.integers(1, 2**22),
    rank=st.integers(0, 10**5),
    step=st.integers(0, 10**12),
    committed_step=st.none() | st.integers(0, 10**12),
    at_stop=st.none() | st.sampled_from(AtStop),
    cause=st.none() | st.sampled_from(Cause),
    root=st.none() | st.text(max_size=9),
    attempt=st.none() | st.integers(0, 10**9),
    instants=st.dictionaries(st.text(max_size=9), st.floats(0, 1e10), max_size=4),
)
RESULT = RankResult(state=RankState.SAVED, pid=7, rank=3, step=20, committed_step=10)


@given(result=RESULTS)
def test_result_comes_back_when_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, result: RankResult
) -> None:
    """All of it."""
    write_result(tmp_path_factory.getbasetemp(), 12, result)
    assert read_result(tmp_path_factory.getbasetemp(), 12) == result


def test_result_is_the_last_one_when_a_rank_has_written_several(tmp_path: Path) -> None:
    """And each rank has its own; no other file is left."""
    write_result(
        tmp_path, 0, RankResult(state=RankState.RUNNING, pid=7, rank=3, step=0, committed_step=None)
    )
    write_result(tmp_path, 0, RESULT)
    assert read_result(tmp_path, 0) == RESULT
    assert read_result(tmp_path, 1) is None
    assert [path.name for path in tmp_path.iterdir()] == ["local_rank_000.json"]


def test_result_is_reported_when_there_is_a_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the local rank, which is the launcher's; without one nothing is written."""
    report_result(RESULT)
    monkeypatch.setenv(RESULT_DIR_VARIABLE, str(tmp_path))
    monkeypatch.setenv("LOCAL_RANK", "5")
    report_result(RESULT)
    assert read_result(tmp_path, 5) == RESULT


def test_training_goes_on_when_the_launcher_cannot_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """That costs the exit code, never the training."""
    monkeypatch.setenv(RESULT_DIR_VARIABLE, str(tmp_path / "none"))
    report_result(RESULT)
    assert "cannot be told that this rank is saved" in caplog.text


GOOD = {
    "schema": 1,
    "state": "saved",
    "pid": 7,
    "rank": 3,
    "step": 20,
    "committed_step": 10,
    "at_stop": "finish",
    "cause": "other_node",
    "root": "/shared/run-7",
    "attempt": 4,
    "instants": {},
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        *[json.dumps({k: v for k, v in GOOD.items() if k != key}) for key in GOOD],
        *[json.dumps(GOOD | {key: "x"}) for key in GOOD if key != "root"],
        *[json.dumps(GOOD | {key: [1]}) for key in GOOD],
        *[
            json.dumps(GOOD | {key: None})
            for key in GOOD
            if key not in ("committed_step", "at_stop", "cause", "root", "attempt")
        ],
        json.dumps(GOOD | {"state": ["saved"]}),
        json.dumps(GOOD) + " " * 70_000,
    ],
)
def test_result_is_none_when_it_is_nonsense(tmp_path: Path, text: str) -> None:
    """The launcher then judges by how the rank died."""
    (tmp_path / "local_rank_000.json").write_text(text)
    assert read_result(tmp_path, 0) is None


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_result_is_none_when_its_file_is_no_plain_one(tmp_path: Path, make: object) -> None:
    """The launcher never waits for one."""
    make(tmp_path / "local_rank_000.json")  # type: ignore[operator]  # one of those above
    assert read_result(tmp_path, 0) is None


def test_instants_are_left_out_when_they_are_no_times(tmp_path: Path) -> None:
    """The rest of the result still counts."""
    odd = {"a": 1.5, "b": "x", "c": None, "d": [1], "e": 10**400, "f": True}
    (tmp_path / "local_rank_000.json").write_text(json.dumps(GOOD | {"instants": odd}))
    result = read_result(tmp_path, 0)
    assert result is not None
    assert result.instants == {"a": 1.5}
