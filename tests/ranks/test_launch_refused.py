"""``reprieve-trainer launch`` with what it can make nothing of."""

from pathlib import Path

import pytest

from tests.support.launching import launch

pytestmark = pytest.mark.ranks


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rdzv-backend=c10d", "--rdzv-id=x", "--rdzv-endpoint=127.0.0.1:99999"], "65536"),
        (["--log-dir=/proc/none", "--tee=3"], "/proc/none"),
    ],
)
def test_launch_exits_78_when_torchrun_refuses_an_option(
    tmp_path: Path, options: list[str], said: str
) -> None:
    """In a line that says which: it is no crash, and would be refused on any node."""
    (tmp_path / "script.py").touch()
    with launch(tmp_path / "out", tmp_path / "script.py", options=options) as running:
        assert running.wait() == 78, running.output
        assert said in running.output.splitlines()[-1]
        assert "Traceback" not in running.output


def test_launch_exits_78_when_the_script_is_missing(tmp_path: Path) -> None:
    """Before a rank is started, and by its name."""
    with launch(tmp_path / "out", tmp_path / "absent.py") as running:
        assert running.wait() == 78, running.output
        assert "there is no script" in running.output.splitlines()[-1]
