"""What pages tell people to type in several terminals, typed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import ledgers
from tests.support.command_blocks import blocks
from tests.support.image_root import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(1200)]

LIMIT_S = 400


class Desk:
    """Terminals in a checkout, with a machine's paths and ports of their own."""

    def __init__(self, place: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._place = place
        self._log = place / "log"

    def text(self, page: str, test: str) -> list[str]:
        """Return the blocks of a page that a test types, with paths and ports of this desk."""
        found = [b.text for b in blocks() if b.page == page and (b.run_by or "").endswith(test)]
        assert found
        return [
            text.replace("/tmp/", f"{self._place}/")  # noqa: S108  # what pages say
            .replace("/shared/", f"{self._place}/shared/")
            .replace("127.0.0.1:1338", f"127.0.0.1:{self._port}")
            .replace(" --notice-after", f" --port {self._port} --notice-after")
            .replace(" --preempted-after", f" --port {self._port} --preempted-after")
            for text in found
        ]

    def run(self, text: str) -> str:
        """Type something that ends by itself and well, and return what it has printed."""
        with self.typed(text) as shell:
            assert shell.wait(timeout=LIMIT_S) == 0, self.said
        return self.said

    @property
    def said(self) -> str:
        """All that was printed so far."""
        return self._log.read_text(errors="replace")

    @property
    def simulator(self) -> str:
        """A simulator that does nothing by itself."""
        return f"reprieve-watcher simulate aws --port {self._port}"

    @contextlib.contextmanager
    def typed(self, text: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Type something; what it has started ends with the block."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("REPRIEVE_")}
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        environment["REPRIEVE_FACES_LISTEN"] = "127.0.0.1:0"
        with (
            self._log.open("ab") as log,
            subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", text],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            ) as shell,
        ):
            try:
                yield shell
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)

    def wait_for(self, claim: Callable[[], bool]) -> None:
        """Wait until it holds."""
        end = time.monotonic() + LIMIT_S
        while not claim():
            assert time.monotonic() < end, self.said
            time.sleep(0.1)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return one in an empty folder."""
    return Desk(tmp_path)


def test_job_leaves_and_goes_on_when_the_readme_is_typed(desk: Desk, tmp_path: Path) -> None:
    """Four terminals, a notice, 75; another node, and it goes on where it was."""
    cloud, node, job, take = desk.text("README.md", "when_the_readme_is_typed")
    assert desk.simulator.startswith(cloud.strip())  # but for the port
    with desk.typed(desk.simulator), desk.typed(node):
        desk.wait_for((tmp_path / "node" / "trainers").is_dir)
        with desk.typed(job) as first:
            desk.wait_for(lambda: "committed step=" in desk.said)
            desk.run(take.replace("curl ", "curl --silent --show-error --fail "))
            assert first.wait(timeout=LIMIT_S) == 75, desk.said
    (tmp_path / "node" / "notice.json").unlink()
    with desk.typed(job) as second:
        desk.wait_for(lambda: "RESUMED step=" in desk.said)
        desk.run(f"reprieve-trainer stop {tmp_path}/run-7")
        assert second.wait(timeout=LIMIT_S) == 75, desk.said
    assert "step_" in desk.run(f"reprieve-trainer checkpoints ls {tmp_path}/run-7")


@pytest.mark.parametrize("page", ["simulator", "simulator-gcp", "simulator-azure"])
def test_watcher_writes_its_flag_when_a_simulators_page_is_typed(
    desk: Desk, tmp_path: Path, page: str
) -> None:
    """Ten seconds after its begin."""
    (text,) = desk.text(f"docs/{page}.md", "when_a_simulators_page_is_typed")
    with desk.typed(text):
        desk.wait_for((tmp_path / "node" / "notice.json").is_file)


def test_notice_comes_by_hand_when_the_simulators_page_is_typed(desk: Desk) -> None:
    """And each other change is understood."""
    (text,) = desk.text(
        "docs/simulator.md", "test_notice_comes_by_hand_when_the_simulators_page_is_typed"
    )
    with desk.typed(desk.simulator):
        desk.wait_for(lambda: "listening on" in desk.said)
        desk.run(text.replace("curl ", "curl --silent --show-error --fail "))


def test_job_survives_when_the_drill_page_is_typed(desk: Desk) -> None:
    """As the page shows."""
    (text,) = desk.text("docs/drill.md", "when_the_drill_page_is_typed")
    assert "the job survives" in desk.run(text)


def test_plans_are_made_when_the_waste_page_is_typed(desk: Desk, tmp_path: Path) -> None:
    """By figures, by a pool's record, and by what a run has measured."""
    ledgers.example(tmp_path / "shared" / "run-7")
    (tmp_path / "pool.csv").write_text("0,64\n5000,60\n9000,64\n20000,61\n")
    (text,) = desk.text("docs/waste.md", "when_the_waste_page_is_typed")
    desk.run(f"cd {tmp_path}\n{text}")
    assert (tmp_path / "plan.html").stat().st_size > 1000
