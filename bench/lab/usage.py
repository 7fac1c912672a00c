"""What a process takes of the machine, by the kernel's own account."""

import os
from pathlib import Path

_TICKS_A_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def rss_bytes(pid: int) -> int:
    """Return its resident memory. Source: proc_pid_statm(5) (read 2026-11-30)."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES


def cpu_s(pid: int) -> float:
    """Return the time that it has had on cores, in steps of 10 ms.

    Source: proc_pid_stat(5), fields 14 and 15 (read 2026-11-30).
    """
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    fields = stat.rpartition(")")[2].split()  # its name, in brackets, may have blanks
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_S
