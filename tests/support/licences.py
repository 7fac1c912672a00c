"""The licences of what a user of ours installs, by what the packages say of themselves.

Run as a program it writes docs/licences.md anew.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.image_root import ROOT, closure

REPORT = ROOT / "docs" / "licences.md"

ALLOWED = (
    *("Apache Software License", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"),
    "Apache 2.0 License",  # as transformers has it
    *("BSD License", "3-Clause BSD License", "BSD-2-Clause", "BSD-3-Clause", "0BSD"),
    *("MIT", "MIT License", "MIT-0", "MIT-CMU", "Zlib", "BSL-1.0", "CC0-1.0"),
    *("PSF-2.0", "Python Software Foundation License", "CNRI-Python"),
    "ISC License (ISCL)",  # MIT in fewer words
    "Mozilla Public License 2.0 (MPL 2.0)",  # certifi alone: a list of certificates, unchanged
    "MPL-2.0",  # tqdm's older half, unchanged: huggingface_hub brings it
)
"""What may be linked with Apache-2.0 and passed on without a question to a lawyer."""

_HEAD = """\
# Licences

Reprieve is Apache-2.0. This is what its extras bring along, by what each package says of itself;
packages that only tests need are not in it, nor what torchtitan brings, which who asks for that
extra has installed already. Written by `make licences`; a test holds it against
what is installed, and each licence against the list in `tests/support/licences.py`. A CUDA build of
PyTorch brings NVIDIA's libraries as well, which are NVIDIA's, not open source.

"""


def user_packages() -> list[str]:
    """Name all that is installed with any extra but those for our own work and for torchtitan."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"]) - {"dev", "torchtitan"}
    return sorted({name for extra in extras for name in closure(extra)})


def report() -> str:
    """Return the page as it should be."""
    return _HEAD + listed("--format=markdown", "--order=name")


def listed(*options: str) -> str:
    """Return what pip-licenses says of those packages.

    A version is not in it, nor a platform's build: both change more often than a licence does.
    """
    tool = Path(sys.executable).parent / "pip-licenses"
    command = [str(tool), "--from=mixed", "--with-system", "--no-version", *options]
    done = subprocess.run(
        [*command, "--packages", *user_packages()], capture_output=True, text=True, check=True
    )
    return done.stdout.replace(" \n", "\n")


if __name__ == "__main__":
    REPORT.write_text(report())
