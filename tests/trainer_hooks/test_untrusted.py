"""Files that another process wrote: refused by their kind, and never waited for."""

import contextlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.leaks import open_descriptors
from trainer_hooks.errors import UntrustedFileError
from trainer_hooks.untrusted import MAX_DEPTH, harmless, in_one_line, read_json_object, shortened

LIMIT = 1024


def read(path: Path) -> object:
    """Read with a limit that the tests can reach."""
    return read_json_object(path, max_bytes=LIMIT)


def make_symlink(path: Path) -> None:
    """Point to a file that would be fine."""
    target = path.with_name("target")
    target.write_text("{}")
    path.symlink_to(target)


def make_hard_link(path: Path) -> None:
    """Give a file that would be fine a second name."""
    path.write_text("{}")
    path.with_name("other").hardlink_to(path)


def make_socket(path: Path) -> None:
    """Leave the name of a socket that nobody serves."""
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(path))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (make_symlink, "cannot be opened"),
        (lambda path: path.symlink_to(path.with_name("nowhere")), "cannot be opened"),
        (make_hard_link, "2 hard links"),
        (os.mkfifo, "not a regular file"),
        (make_socket, "cannot be opened"),
        (Path.mkdir, "not a regular file"),
    ],
)
def test_file_is_refused_when_it_is_not_a_plain_one(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    """Whatever could redirect, block or surprise a reader is named, and no descriptor is left."""
    path = tmp_path / "notice.json"
    make(path)
    before = open_descriptors()
    with pytest.raises(UntrustedFileError, match=why):
        read(path)
    assert open_descriptors() == before


def test_file_is_read_when_it_may_have_several_names(tmp_path: Path) -> None:
    """A checkpoint that somebody keeps by hard links is one; a symbolic link stays refused."""
    make_hard_link(tmp_path / "COMMIT")
    assert read_json_object(tmp_path / "COMMIT", max_bytes=LIMIT, may_be_linked=True) == {}
    (tmp_path / "link").symlink_to(tmp_path / "COMMIT")
    with pytest.raises(UntrustedFileError):
        read_json_object(tmp_path / "link", max_bytes=LIMIT, may_be_linked=True)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_file_is_refused_when_it_is_a_device(device: str) -> None:
    """A device may never end."""
    with pytest.raises(UntrustedFileError, match="not a regular file"):
        read(Path(device))


def test_file_is_refused_when_the_disk_fails_to_read_it() -> None:
    """Address 0 of our memory is a regular file that opens and cannot be read: EIO."""
    with pytest.raises(UntrustedFileError, match="cannot be read: Input/output error"):
        read(Path("/proc/self/mem"))


def test_file_is_refused_when_a_directory_on_the_way_is_a_file(tmp_path: Path) -> None:
    """That something is there but in the way is not "no such file"."""
    (tmp_path / "run").write_text("")
    with pytest.raises(UntrustedFileError, match="Not a directory"):
        read(tmp_path / "run" / "notice.json")


def test_file_is_missing_when_it_or_its_directory_does_not_exist(tmp_path: Path) -> None:
    """Absence is an answer of its own."""
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "notice.json")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "run" / "notice.json")


@pytest.mark.parametrize("length", [LIMIT, LIMIT + 1])
def test_file_is_refused_when_it_is_longer_than_the_limit(tmp_path: Path, length: int) -> None:
    """The limit itself is still allowed."""
    path = tmp_path / "file"
    path.write_bytes(b"{}".ljust(length))
    if length == LIMIT:
        assert read(path) == {}
    else:
        with pytest.raises(UntrustedFileError, match="larger than 1024 bytes"):
            read(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b'{"schema": 1',
        b'{"schema": 1}}',
        b"{'schema': 1}",
        b"null",
        b"[]",
        b'"text"',
        b"1",
        b"\xff\xfe",
        b'{"id": "\xff"}',
        b'{"id": "\xed\xa0\x80"}',
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b"\0" * 100,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_file_is_refused_when_it_is_no_json_object(tmp_path: Path, text: bytes) -> None:
    """One encoding, one object, whole."""
    path = tmp_path / "file"
    path.write_bytes(text)
    with pytest.raises(UntrustedFileError):
        read_json_object(path, max_bytes=10_000)


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, 50_000])
def test_file_is_refused_when_it_is_nested_too_deep(tmp_path: Path, depth: int) -> None:
    """Neither our reader nor Python's parser runs out of stack."""
    path = tmp_path / "file"
    path.write_text('{"a":' * (depth - 1) + "{}" + "}" * (depth - 1))
    if depth == MAX_DEPTH:
        assert isinstance(read_json_object(path, max_bytes=10**6), dict)
    else:
        with pytest.raises(UntrustedFileError):
            read_json_object(path, max_bytes=10**6)


@given(data=st.binary(max_size=200))
def test_file_is_read_or_refused_when_its_bytes_are_anything(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """There is no third way out."""
    path = tmp_path_factory.getbasetemp() / "anything"
    path.write_bytes(data)
    with contextlib.suppress(UntrustedFileError):
        assert read(path) == json.loads(data)


def test_terminal_is_safe_when_a_text_holds_anything() -> None:
    """Lines and tabs stay, as does what other scripts need; escape codes become letters."""
    assert harmless("a\tb\nc äöü 漢字") == "a\tb\nc äöü 漢字"
    assert harmless("\x1b[2J\r\x9b1m\x7f\u202egpj") == r"\x1b[2J\r\x9b1m\x7f\u202egpj"
    assert in_one_line("a\nb\x1b") == r"a\nb\x1b"


def test_middle_is_left_out_when_a_text_is_too_long() -> None:
    """Begin and end say what and what to do; in one line, that no terminal obeys."""
    assert shortened("a\x1b[31mb\nc") == r"a\x1b[31mb\nc"
    text = shortened("b" + "x" * 5000 + "e")
    assert (text[0], text[-1], len(text)) == ("b", "e", 205)
