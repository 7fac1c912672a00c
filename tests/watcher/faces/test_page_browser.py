"""The status page in a real browser: it keeps itself up to date, and runs nothing of others'."""

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from tests.support.served_faces import served_faces
from watcher.cloud import Cloud
from watcher.faces.state_view import Sights, StateView
from watcher.state import State
from watcher.trainers import Trainers

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(180)]

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


async def dom(url: str, profile: Path) -> str:
    """Return the page as the browser has it after seven seconds."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("this machine has no chromium (apt install chromium)")
    process = await asyncio.create_subprocess_exec(
        *(
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ),
        *(f"--user-data-dir={profile}", "--virtual-time-budget=7000", "--dump-dom", url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    printed, _ = await process.communicate()
    return printed.decode()


async def test_page_is_looked_up_again_and_runs_nothing_of_others(
    clock: TurnedClock, tmp_path: Path
) -> None:
    """The script that the policy allows does its work, and a trainer's word is none."""
    looks = 0

    async def look() -> Trainers:
        nonlocal looks
        looks += 1
        return Trainers(refused={HOSTILE: f"look {looks} at {time.time():.0f}"})

    sights = Sights(healths=(), blind_limit_s=10.0, board=None, look=look)
    view = StateView("node-a", Cloud("aws", HOSTILE), sights, State(), clock)
    async with served_faces({"/": view.page}) as faces:
        shown = await dom(faces.url, tmp_path)
    assert looks > 1
    assert f"look {looks} at" in shown
    assert "<title>node-a: No notice is in force</title>" in shown
    assert "&lt;img src=x onerror=" in shown
