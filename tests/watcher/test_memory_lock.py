"""What stays in memory, as the kernel counts it: in a process of its own, which would keep it."""

import os
import resource
import subprocess
import sys

import pytest

_SHOW = """
import resource, sys
from watcher.memory_lock import stay_in_memory
"ascii".encode("ascii").decode("ascii")  # while the interpreter's own files can be read
open("/proc/self/status", encoding="ascii").close()
{before}
why = stay_in_memory()
status = open("/proc/self/status", encoding="ascii").read()
print(status.split("VmLck:")[1].split()[0], why)
"""
_AS_SOMEBODY = """
import os
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
os.setuid(65534)
"""
_WITHOUT_LIMIT = """
import os
resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
os.setuid(65534)
"""


def locked(before: str = "") -> tuple[int, str]:
    """Run it in a new process; return how many KiB are locked, and why they are not."""
    program = [sys.executable, "-c", _SHOW.format(before=before)]
    ended = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    number, _, why = ended.stdout.strip().partition(" ")
    return int(number), why


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="sets limits and users, as root can")


@needs_root
def test_memory_is_locked_when_the_daemon_may() -> None:
    """All of it: the interpreter's own pages are what is read back from disk otherwise."""
    number, why = locked()
    assert why == ""
    assert number > 10_000


@needs_root
@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] != resource.RLIM_INFINITY,
    reason="has a limit itself (ulimit -Hl), and may not lift it everywhere",
)
def test_memory_is_locked_when_a_plain_user_has_no_limit() -> None:
    """As under a unit with LimitMEMLOCK=infinity."""
    number, why = locked(_WITHOUT_LIMIT)
    assert why == ""
    assert number > 10_000


@needs_root
def test_memory_is_left_alone_when_there_is_a_limit() -> None:
    """What would be allocated later could not be, and the daemon would end; so it says why."""
    number, why = locked(_AS_SOMEBODY)
    assert number == 0
    assert why.startswith("at most 65536 bytes may be locked: LimitMEMLOCK=infinity")
