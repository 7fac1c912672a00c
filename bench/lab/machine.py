"""The machine that a bench's figures hold for."""

import os
import platform
from pathlib import Path

import torch


def machine() -> dict[str, str | float | None]:
    """Describe this machine, with how busy it is at the moment."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 2),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
