"""An example's shell script, started as its users do."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.launching import EXECUTABLE, Launch

EXAMPLES = Path(__file__).parents[2] / "examples"


def start_example(
    script: str, directory: Path, *arguments: str, environment: Mapping[str, str]
) -> Launch:
    """Start one, with a node's run directory of its own below a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    output = directory / "output.txt"
    path = f"{EXECUTABLE.parent}:{os.environ['PATH']}"
    own = {"REPRIEVE_RUN_DIR": str(directory / "run"), "PATH": path, "OMP_NUM_THREADS": "1"}
    with output.open("ab") as file:
        process = subprocess.Popen(
            [str(EXAMPLES / script), *arguments],
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **own, **environment},
        )
    return Launch(process=process, report_path=directory / "report.json", output_path=output)
