"""What `reprieve-watcher doctor` finds of a program that tells of notices.

One whose status is polled is asked once more. One that goes on and prints lines is not: a second
one beside the daemon's might take from it what is said only once.
"""

import asyncio
import os
import shutil
from collections.abc import Sequence

from watcher.errors import escaped
from watcher.finding import Finding, ok, wrong
from watcher.program import Process, Program
from watcher.side_thread import SideThread
from watcher.sources.command_config import CommandConfig
from watcher.sources.road import Patient

_SAID_BYTES = 256
_THERE = "set command.argv to a program that is there and executable for the daemon's user"
_ENDS = "let it end with 0 (a notice), 1 (none), or another status for unknown, and in time"


async def checks(config: CommandConfig, _patient: Patient) -> Sequence[Finding]:
    """Return what is found of the program; nothing where there is none."""
    if not config.argv:
        return []
    checked = f"program {escaped(config.argv[0])}"
    path = await asyncio.to_thread(shutil.which, config.argv[0])
    if path is None:
        is_there = await asyncio.to_thread(os.path.exists, config.argv[0])
        found = "may not be executed" if is_there else "is not there"
        return [wrong(checked, found, _THERE)]
    if config.mode == "lines":
        found = "can be started; not asked here: `status` says whether the daemon hears it"
        return [ok(checked, found)]
    return [await _asked(checked, config.argv, config.limit_s)]


async def _asked(checked: str, argv: Sequence[str], limit_s: float) -> Finding:
    """Run it once, as the daemon does every few seconds."""
    try:
        program = await Program.start(argv, SideThread[Process]("doctor"))
    except OSError as error:
        return wrong(checked, f"can't be started: {error.strerror}", _THERE)
    try:
        async with asyncio.timeout(limit_s):
            said = await program.output(_SAID_BYTES)
            status = await program.ended()
    except TimeoutError:
        return wrong(checked, f"has not ended within {limit_s:g} s", _ENDS)
    finally:
        await program.end()
    if status in (0, 1):
        return ok(checked, f"ends with {status}: {'none' if status else 'one'} is in force")
    words = said.decode(errors="replace").partition("\n")[0] or program.last_words()
    found = f"ends with {status}, so that nothing is known: {escaped(words)[:128] or 'no words'}"
    return wrong(checked, found, _ENDS)
