"""Names in a checkpoint directory: read as numbers, and nothing else taken for one."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.checkpoint.layout import (
    Attempt,
    SaveName,
    is_plain_name,
    manifest_file,
    saves,
    state_file,
)

TOKENS = st.text("0123456789abcdef", min_size=4, max_size=16)
NAMES = st.builds(
    SaveName,
    st.integers(0, 10**18 - 1),
    st.builds(Attempt, st.integers(1, 10**18 - 1), TOKENS),
)


@given(name=NAMES)
def test_name_comes_back_when_it_is_parsed(name: SaveName) -> None:
    """At any step and attempt that a run can reach."""
    assert SaveName.parse(str(name)) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "LATEST",
        ".attempts",
        "step_000000300",
        "step_300.a1-5f3c",
        "step_000000300.a1-5f3",
        "step_000000300.a1-5F3C",
        "step_000000300.a-5f3c",
        "step_000000300.a1",
        "step_000000300.a1-5f3c.tmp",
        ".step_000000300.a1-5f3c",
        "step_-00000300.a1-5f3c",
        "step_000000300.a1-5f3c\n",
        " step_000000300.a1-5f3c",
        "step_٠٠٠٠٠٠٣٠٠.a1-5f3c",
        "zz_backup_of_step_000000300.a1-5f3c",
        "step_" + "9" * 19 + ".a1-5f3c",
    ],
)
def test_name_is_not_ours_when_it_differs_in_anything(text: str) -> None:
    """A copy, a backup or another program's directory is never resumed from."""
    assert SaveName.parse(text) is None


def test_order_is_that_of_the_numbers_when_they_grow_longer() -> None:
    """As strings, step 10^9 comes before 999,999,999 and attempt 10 before 9."""
    ordered = [
        SaveName(999_999_999, Attempt(1, "aaaa")),
        SaveName(1_000_000_000, Attempt(9, "aaaa")),
        SaveName(1_000_000_000, Attempt(10, "aaaa")),
        SaveName(20_000_000_000, Attempt(1, "aaaa")),
    ]
    assert sorted({*ordered}) == ordered
    assert sorted(map(str, ordered)) != [str(name) for name in ordered]


def test_saves_are_listed_newest_first_when_other_things_lie_beside_them(tmp_path: Path) -> None:
    """Whatever those are."""
    names = ["step_000000100.a2-aaaa", "step_000000100.a10-aaaa", "step_000000020.a1-aaaa"]
    for name in [*names, "step_1", "lost+found", ".attempts"]:
        (tmp_path / name).mkdir()
    (tmp_path / "LATEST").write_text("step_000000100.a2-aaaa")
    assert [str(name) for name in saves(tmp_path)] == [names[1], names[0], names[2]]


def test_saves_are_none_when_there_is_no_directory(tmp_path: Path) -> None:
    """The first start of a job."""
    assert saves(tmp_path / "none") == []
    (tmp_path / "file").write_text("")
    assert saves(tmp_path / "file") == []


@pytest.mark.parametrize(
    "name",
    [
        "__0_0.distcp",
        ".metadata",
        "state/rank_00003.json",
        "manifest/rank_00000.json",
        "..a",
        "a..",
    ],
)
def test_file_name_is_plain_when_it_stays_inside(name: str) -> None:
    """Those that we and DCP write."""
    assert is_plain_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "/",
        "/etc/passwd",
        "../LATEST",
        "../../etc/passwd",
        "state/../COMMIT",
        "state/..",
        "state/.",
        "state/",
        "state//a",
        "other/a",
        "a/b",
        "a\n",
        "a\0",
        "a b",
        "é",
        "a" * 129,
    ],
)
def test_file_name_is_refused_when_it_may_lead_elsewhere(name: str) -> None:
    """A marker is read before it is trusted."""
    assert not is_plain_name(name)


def test_rank_files_sort_by_rank_when_there_are_many() -> None:
    """And are plain names themselves."""
    names = [file(rank) for file in (state_file, manifest_file) for rank in (0, 9, 10, 99_999)]
    assert all(is_plain_name(name) for name in names)
    assert names[:4] == sorted(names[:4])
