"""What `reprieve-watcher doctor` asks logind: is it there, and may a shutdown be held back."""

from collections.abc import Sequence

from watcher.errors import SourceError
from watcher.finding import Finding, ok, unknown, wrong
from watcher.login_manager import InhibitorRefused, LoginManager, release
from watcher.sources.logind_config import LogindConfig
from watcher.sources.road import Patient

_SHORT_S = 10.0
"""Seconds in which few trainers have saved; logind's own default is 5."""

_NO_LOGIND = "start dbus and systemd-logind, or set logind.watch = off"
_NO_LOCK = (
    "let polkitd run (apt install polkitd), or the daemon be root "
    "(deploy/systemd/reprieve-watcher.service.d/root.conf); until then a shutdown is heard, and "
    "not held back"
)
_LONGER = "deploy/systemd/logind.conf.d/reprieve.conf makes it longer"


async def checks(config: LogindConfig, _patient: Patient) -> Sequence[Finding]:
    """Return what is found about the machine's own shutdown; nothing where it is not heard."""
    if config.watch == "off":
        return []
    try:
        manager = await LoginManager.connect(config.bus_address)
    except SourceError as error:
        return [wrong("logind", str(error), _NO_LOGIND)]
    try:
        return [ok("logind", "answers"), await _window(manager), await _lock(manager)]
    finally:
        manager.close()


async def _window(manager: LoginManager) -> Finding:
    checked = "longest delay of a shutdown"
    try:
        limit_s = (await manager.look()).limit_s
    except SourceError as error:
        return unknown(checked, str(error))
    more = f", which is short: {_LONGER}" if limit_s < _SHORT_S else ""
    return ok(checked, f"{limit_s:g} s{more}")


async def _lock(manager: LoginManager) -> Finding:
    """Check the right to hold a shutdown back: take a lock, and give it back at once."""
    checked = "right to hold a shutdown back"
    try:
        release(await manager.inhibit("doctor looks whether this is allowed"))
    except InhibitorRefused as error:
        return wrong(checked, str(error), _NO_LOCK)
    except SourceError as error:
        return unknown(checked, str(error))
    return ok(checked, "is granted")
