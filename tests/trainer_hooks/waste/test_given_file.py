"""Files of the command line: plain ones and the standard input; nothing that is waited for."""

import io
import os
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from trainer_hooks.errors import ConfigError, UntrustedFileError
from trainer_hooks.waste.given_file import read_given
from trainer_hooks.waste.pilot import read_pilot
from trainer_hooks.waste.traces import read_trace

LIMIT = 8


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def _link(path: Path) -> None:
    os.mkfifo(f"{path}-")
    path.symlink_to(f"{path}-")


ODD: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "link to a fifo": _link,
    "directory": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": _socket,
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("read", [read_trace, read_pilot])
def test_file_is_refused_at_once_when_it_is_no_plain_one(
    read: Callable[[Path], object], kind: str, tmp_path: Path
) -> None:
    """A fifo that nobody writes to would be waited for, and a device never ends."""
    path = tmp_path / "given"
    ODD[kind](path)
    with pytest.raises(ConfigError, match=r"regular file|cannot be read"):
        read(path)


def test_advice_names_the_standard_input_when_a_fifo_is_given(tmp_path: Path) -> None:
    """It is what people mean by one."""
    os.mkfifo(tmp_path / "given")
    with pytest.raises(ConfigError, match="what a program writes is read from -"):
        read_given(tmp_path / "given", "trace", LIMIT)


def test_file_is_read_when_it_is_plain_or_linked(tmp_path: Path) -> None:
    """By whatever name."""
    (tmp_path / "a").write_bytes(b"12345678")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").hardlink_to(tmp_path / "a")
    assert {read_given(tmp_path / name, "trace", LIMIT) for name in "abc"} == {b"12345678"}


@pytest.mark.parametrize("is_stdin", [False, True])
def test_file_is_refused_when_it_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_stdin: bool
) -> None:
    """Wherever it comes from."""
    path = Path("-") if is_stdin else tmp_path / "a"
    (tmp_path / "a").write_bytes(b"123456789")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"123456789")))
    with pytest.raises(UntrustedFileError, match="larger than 8 bytes"):
        read_given(path, "trace", LIMIT)


def test_trace_and_pilot_are_read_from_the_standard_input_when_they_are_a_dash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such as `zcat trace.gz | reprieve-trainer plan --trace -`."""
    given = [b"0,4\n3600,3\n", b"0,running\n3600,down\n"]
    for data in given:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        if data is given[0]:
            assert read_trace(Path("-")).peak_nodes == 4
        else:
            assert len(read_pilot(Path("-")).uptimes) == 1
