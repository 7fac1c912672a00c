"""The bare store: where it listens, and how it ends."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from torch.distributed import DistNetworkError, TCPStore

from tests.support.launching import EXECUTABLE
from trainer_hooks import cli
from trainer_hooks.errors import ConfigError
from trainer_hooks.launch import store


@contextmanager
def served(listen: str) -> Iterator[tuple[subprocess.Popen[str], str, int]]:
    """Run the command; give its process, and where it says that it can be reached."""
    command = [str(EXECUTABLE), "store", "--listen", listen]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            word, _, where = process.stdout.readline().strip().partition(" listen=")
            assert word == "ready"
            host, _, port = where.rpartition(":")
            yield process, host, int(port)
        finally:
            process.kill()


def client(host: str, port: int) -> TCPStore:
    """Connect, and fail at once where nobody listens."""
    return TCPStore(host, port, timeout=timedelta(seconds=1), wait_for_workers=False)


@pytest.mark.ranks
def test_store_serves_one_address_until_it_is_told_to_end() -> None:
    """Reached there and on no other, by two who share what they write; SIGTERM ends it with 0."""
    with served("127.0.0.2:0") as (process, host, port):
        assert host == "127.0.0.2"
        one, other = client(host, port), client(host, port)
        one.set("key", "value")
        assert other.get("key") == b"value"
        with pytest.raises(DistNetworkError):
            client("127.0.0.1", port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == os.EX_OK


def test_store_is_refused_when_the_port_is_taken() -> None:
    """By name, as a set-up that is wrong."""
    with socket.create_server(("127.0.0.2", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"listen on 127.0.0.2:{port}: Address already in"):
            store._bound("127.0.0.2", port)


def test_store_is_refused_when_the_address_is_of_another_machine() -> None:
    """192.0.2.0/24 is of nobody (RFC 5737)."""
    with pytest.raises(ConfigError, match="Cannot assign requested address"):
        store._bound("192.0.2.1", 0)


@pytest.mark.parametrize(
    "listen", ["29400", "host:29400", ":29400", "10.0.0.5", "10.0.0.5:x", "::1:-1"]
)
def test_store_is_refused_when_it_is_not_told_where_to_listen(
    listen: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is taken for an address that may be reached from everywhere."""
    assert cli.run(["store", f"--listen={listen}"]) == 78
    assert "is no ADDRESS:PORT such as 10.0.0.5:29400" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        ("10.0.0.5:29400", ("10.0.0.5", 29400)),
        ("[fd00::5]:0", ("fd00::5", 0)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),  # noqa: S104 - nothing listens there
    ],
)
def test_store_takes_an_address_when_it_has_both_parts(
    listen: str, expected: tuple[str, int]
) -> None:
    """IPv6 as in URLs."""
    assert cli._parser().parse_args(["store", "--listen", listen]).listen == expected
