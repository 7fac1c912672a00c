"""The bill of materials: what an environment really has, with licences."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from tests.support.image_root import ROOT, build_wheel, closure, install

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(300)]

SBOM = ROOT / "deploy" / "release" / "sbom.sh"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment like that of a node."""
    directory = tmp_path_factory.mktemp("sbom")
    install(directory / "root", build_wheel(directory), "logind")
    return directory / "root"


def written(target: Path, environment: Path) -> bytes:
    """Return what sbom.sh writes of it."""
    tool = Path(sys.executable).parent / "cyclonedx-py"
    command = [SBOM, target, environment / "bin" / "python"]
    subprocess.run(command, check=True, env=os.environ | {"CYCLONEDX": str(tool)})
    return target.read_bytes()


def test_bill_names_what_is_there_and_is_the_same_when_it_is_written_again(
    environment: Path, tmp_path: Path
) -> None:
    """No number drawn and no time is in it; each package has its version, address and licences."""
    text = written(tmp_path / "one.json", environment)
    assert written(tmp_path / "two.json", environment) == text
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "reprieve")
    components: dict[str, Any] = {canonicalize_name(one["name"]): one for one in bill["components"]}
    there = closure("logind")
    assert components.keys() == there.keys()
    for name, dist in there.items():
        assert components[name]["version"] == dist.version
        assert components[name]["purl"].startswith(f"pkg:pypi/{name}@{dist.version}")
        assert components[name]["licenses"], name
    needs = {one["ref"]: one.get("dependsOn", []) for one in bill["dependencies"]}
    assert components["aiohttp"]["bom-ref"] in needs[bill["metadata"]["component"]["bom-ref"]]
