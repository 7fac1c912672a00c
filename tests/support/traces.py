"""The published traces of real pools, which are data of others and no part of this repository."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[3] / "shared" / "traces"


def published_trace(name: str) -> Path:
    """Return the path of a trace, or skip the test.

    They are looked for in the folder that ``REPRIEVE_TRACES`` names, else beside the repository.
    docs/waste.md says where they are published.
    """
    path = Path(os.environ.get("REPRIEVE_TRACES", _BESIDE)) / name
    if not path.is_file():
        pytest.skip(f"no trace {path}; REPRIEVE_TRACES names the folder with bamboo/ and parcae/")
    return path
