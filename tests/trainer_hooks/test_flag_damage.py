"""A flag that cannot be understood is an error, never "no notice"."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.flags import GOLDEN
from tests.support.golden_flag import BOOT_ID, Flag
from trainer_hooks.errors import FlagError
from trainer_hooks.flag import MAX_FLAG_BYTES, read_flag

WITHOUT_OFFSET = "2026-11-30T10:07:06"
MISSING = object()

DAMAGE: dict[str, list[object]] = {
    "schema": [MISSING, None, 0, 2, "1", [1], {}],
    "urgency": [MISSING, None, "", "STOP", "soon", 1, True, ["stop"], {}],
    "id": [MISSING, None, 7, ["a"], {"a": 1}, False],
    "source": [MISSING, None, 1.5, [], {}],
    "boot_id": [5, True, [], {}, [BOOT_ID]],
    "deadline": [False, 0, 1e9, [], {}, "", "soon", "\0", "10:07", "2026-11-30", WITHOUT_OFFSET],
    "written_at": [MISSING, None, 3, [], "x", WITHOUT_OFFSET],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in DAMAGE.items() for value in values]
)
def test_flag_is_an_error_when_a_key_cannot_be_understood(
    golden: Flag, key: str, value: object
) -> None:
    """Never None: that would mean "no notice", and unknown is not clear."""
    golden.data[key] = value
    if value is MISSING:
        del golden.data[key]
    with pytest.raises(FlagError, match=key):
        golden.read()


def _fill(path: Path) -> None:
    path.write_text(GOLDEN.read_text() + " " * MAX_FLAG_BYTES)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(GOLDEN.read_bytes()[:-3]),
        lambda path: path.write_bytes(GOLDEN.read_bytes() * 2),
        lambda path: path.write_bytes(b"\xff" + GOLDEN.read_bytes()),
        lambda path: path.write_bytes(b"\xef\xbb\xbf" + GOLDEN.read_bytes()),
        lambda path: path.write_text("[" * 60_000),
        lambda path: path.write_text("[]"),
        _fill,
        Path.mkdir,
        lambda path: path.symlink_to(GOLDEN),
        lambda path: path.symlink_to(path),
    ],
)
def test_flag_is_an_error_when_its_file_cannot_be_read(
    golden: Flag, make: Callable[[Path], object]
) -> None:
    """The kinds of file that are refused are the untrusted reader's; here they mean a stop."""
    make(golden.path)
    with pytest.raises(FlagError, match=str(golden.path)):
        read_flag(golden.path)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    changes=st.dictionaries(st.sampled_from(sorted(json.loads(GOLDEN.read_bytes()))), JSON_VALUES)
)
def test_flag_is_a_notice_void_or_an_error_when_its_values_are_anything(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, object]
) -> None:
    """The listener lives through every file there can be, and only another boot voids one."""
    golden = Flag(tmp_path_factory.getbasetemp() / "notice.json")
    golden.data.pop("boot_id")
    try:
        notice = golden.read(**changes)
    except FlagError:
        return
    if notice is None:
        assert isinstance(changes["boot_id"], str)
    else:
        assert notice.is_overdue in (True, False)


@given(data=st.binary(max_size=100))
def test_flag_is_an_error_when_its_bytes_are_no_flag(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """No bytes that are not a flag are taken for "no notice"."""
    path = tmp_path_factory.getbasetemp() / "bytes.json"
    path.write_bytes(data)
    with pytest.raises(FlagError):
        read_flag(path)
